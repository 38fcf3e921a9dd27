import { describe, expect, it } from "vitest";
import { requestBytes, sendRaw } from "../attacks/raw-socket.ts";
import { type RpcTarget, rpcTargets } from "../attacks/rpc-rows.ts";
import { rowsOf } from "../support/tables.ts";
import { sharedWorld } from "../support/world.ts";

const world = sharedWorld(["--retention", "1m"]);

type Headers = Readonly<Record<string, string | undefined>>;

async function ask({ path, contentType, body }: RpcTarget, headers: Headers, method = "POST", sent = body) {
  const { served } = world();
  const honest = {
    host: "127.0.0.1",
    authorization: `Bearer ${served.key}`,
    "content-type": contentType,
    "connect-protocol-version": "1",
    "content-length": String(Buffer.byteLength(sent)),
    connection: "close",
  };
  const bytes = requestBytes(method, path, { ...honest, ...headers }, sent);
  const { statuses, text } = await sendRaw(Number(new URL(served.url).port), bytes);
  return { status: statuses[0], text };
}

const wrong = "wrong-wrong-wrong-wrong";
const refusals: readonly [name: string, headers: Headers, says: RegExp][] = [
  ["without a key", { authorization: undefined }, /"code":"unauthenticated"/],
  ["with a wrong key", { authorization: `Bearer ${wrong}` }, /"code":"unauthenticated"/],
  ["with a made-up session", { authorization: undefined, "x-millrace-session": wrong }, /"unauthenticated"/],
  ["with a foreign Host", { host: "evil.example" }, /"code":"permission_denied"/],
  ["from a foreign page", { origin: "https://evil.example" }, /"code":"permission_denied"/],
  ["from a page without an origin", { origin: "null" }, /"code":"permission_denied"/],
  ["with another content type", { "content-type": "text/plain" }, /^HTTP\/1\.1 4\d\d |"code":"/],
];

describe.each(rowsOf(rpcTargets()))("$name", (target) => {
  it.each(refusals)("asked %s is refused", async (_, headers, says) => {
    const { text } = await ask(target, headers);
    expect(text).toMatch(says);
    expect(text).not.toMatch(/^access-control-allow-/im);
    expect((await world().ide.report()).messages).toEqual([]);
  });

  it("is not preflighted for a foreign page, on a private network or not", async () => {
    const { status, text } = await ask(
      target,
      {
        authorization: undefined,
        origin: "https://evil.example",
        "access-control-request-method": "POST",
        "access-control-request-private-network": "true",
      },
      "OPTIONS",
      "",
    );
    expect(status).toBe(403);
    expect(text).not.toMatch(/^access-control-allow-/im);
  });

  it("refuses an empty message and one that is no message, with a reason", async () => {
    for (const body of [target.body, target.body.replace("{}", "[}")]) {
      const { text } = await ask(target, {}, "POST", body);
      expect(text).toMatch(/"code":"\w+"/);
    }
    expect((await world().ide.report()).messages).toEqual([]);
  });
});
