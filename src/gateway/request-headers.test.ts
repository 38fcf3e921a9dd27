import { describe, expect, it } from "vitest";
import { corsHeaders, preflight } from "./cors.ts";
import { clientOf } from "./request-headers.ts";

describe("who asks", () => {
  it.each([
    [{ "user-agent": "opencode/1.18.33 linux" }, "opencode/1.18.33"],
    [{ "user-agent": "connect-es/2.2.0", "x-millrace-client": "my-app/1.0" }, "my-app/1.0"],
    [{ "user-agent": "Mozilla/5.0 (X11)", "x-millrace-client": " my-page " }, "my-page"],
    [{ "user-agent": "opencode/1", "x-millrace-client": "(nobody)" }, "opencode/1"],
    [{}, undefined],
  ])("is told by %j: %s", (headers, client) => {
    expect(clientOf(new Headers(headers as Record<string, string>))).toBe(client);
  });

  it("may be told by a page of an allowed origin", () => {
    const origin = "https://app.example";
    const asked = { origin, "access-control-request-headers": "authorization, x-millrace-client" };
    expect(preflight(new Headers(asked)).headers.get("access-control-allow-headers")).toContain("x-millrace-client");
    expect(corsHeaders(origin)).toMatchObject({ "access-control-allow-origin": origin });
  });
});
