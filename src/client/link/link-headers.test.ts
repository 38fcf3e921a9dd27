import { readFileSync } from "node:fs";
import type { UnaryRequest } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { clientVersion, linkHeaders } from "./link-headers.ts";
import { webLink } from "./web-link.ts";

async function sent(...words: Parameters<typeof linkHeaders>): Promise<Headers> {
  const header = new Headers();
  await linkHeaders(...words)(async () => ({}) as never)({ header } as UnaryRequest); // it looks at nothing else
  return header;
}

describe("the headers of a link", () => {
  test("name this library, in the package's version, or who uses it", async () => {
    const manifest: unknown = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
    expect(manifest).toMatchObject({ version: clientVersion });
    expect((await sent("key")).get("x-millrace-client")).toBe(`millrace-client/${clientVersion}`);
    const named = await sent("key", "my-app/1.2.0-beta+7");
    expect(named.get("x-millrace-client")).toBe("my-app/1.2.0-beta+7");
    expect(named.get("authorization")).toBe("Bearer key");
  });

  test.each(["", "my app/1", "my-app/1/2", "naïve/1", "a".repeat(81), "x\r\ny"])(
    "refuse the name %j, when the link is made",
    (name) => {
      const link = () => webLink({ url: "http://127.0.0.1:1", key: "key" }, { clientName: name });
      expect(link).toThrow(expect.objectContaining({ code: "invalid_request" }));
    },
  );
});
