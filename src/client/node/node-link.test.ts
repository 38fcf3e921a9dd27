import { createServer, type RequestListener } from "node:http";
import { describe, expect, test } from "vitest";
import { listening } from "../../../test/support/temporary.ts";
import { webLink } from "../link/web-link.ts";
import { observe } from "../stream/observe.ts";
import { nodeLink } from "./node-link.ts";

const pass = { streamKey: "a-stream", encryptionKey: "A".repeat(43) };
const backoff = { baseMs: 1, capMs: 1, budget: 8 };

/** A server that speaks HTTP/1.1 only, and its address. */
async function listen(handler: RequestListener) {
  const server = createServer(handler);
  return { url: `http://127.0.0.1:${await listening(server)}`, server };
}

/** The error of observing a stream at something that is no gateway. */
async function errorAt(url: string): Promise<unknown> {
  try {
    for await (const _ of observe(pass, { gateway: nodeLink({ url, key: "a-key" }), backoff }));
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("a link to what is no gateway", () => {
  test.each(["", "127.0.0.1:42100", "file:///tmp/x"])("is refused at once where the address is %j", (url) => {
    for (const open of [nodeLink, webLink])
      expect(() => open({ url, key: "a-key" })).toThrow(
        expect.objectContaining({ code: "invalid_request", param: "url" }),
      );
  });

  test("is refused at once without a key", () => {
    for (const open of [nodeLink, webLink])
      expect(() => open({ url: "http://127.0.0.1:1", key: "" })).toThrow(expect.objectContaining({ param: "key" }));
  });

  test("reports the system's error if no program answers", async () => {
    const { url, server } = await listen(() => undefined);
    await new Promise((resolve) => server.close(resolve));
    expect(await errorAt(url)).toMatchObject({
      code: "upstream_failed",
      message: expect.stringContaining(`ECONNREFUSED ${new URL(url).host}`),
    });
  });

  test("reports a program that does not know the call, also one without HTTP/2", async () => {
    let asked = 0;
    const { url } = await listen((_, response) => {
      asked++;
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
    });
    expect(await errorAt(url)).toMatchObject({
      code: "upstream_failed",
      message: expect.stringContaining("does not speak the stream protocol"),
    });
    expect(asked).toBeLessThan(backoff.budget);
  });

  test("passes on that a key is turned away", async () => {
    const { url } = await listen((_, response) => void response.writeHead(401).end());
    expect(await errorAt(url)).toMatchObject({
      code: "unauthenticated",
      hint: expect.stringContaining("millrace keys"),
    });
  });
});
