import { describe, expect, it } from "vitest";
import { corsHeaders, preflight } from "./cors.ts";
import { clientOf, projectOf } from "./request-headers.ts";

describe("what a request is for", () => {
  it.each([
    ["engine", "engine"],
    ["  ", undefined],
    ["项目", "项目"],
    ["/home/ada/café", "/home/ada/café"],
  ])("%j, in the bytes of UTF-8", (sent, project) => {
    const bytes = Buffer.from(sent).toString("latin1"); // as Node hands over what came
    expect(projectOf(new Headers({ "x-millrace-project": bytes }))).toBe(project);
  });

  it("is told in Latin-1 too", () => {
    expect(projectOf(new Headers({ "x-millrace-project": "caf\u00e9" }))).toBe("café");
  });
});

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
