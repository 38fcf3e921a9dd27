import { expect, it } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { gateway, patienceMs, world } from "../support/world.ts";

it("what a refused page's program is told to do lets it in", { timeout: patienceMs }, async () => {
  const { home, served } = await world();
  const origins = ["app://obsidian.md", "moz-extension://4f6b7c1e-0000-4000-8000-000000000000", "tauri://localhost"];
  const preflight = (url: string, origin: string) =>
    fetch(`${url}/v1/models`, { method: "OPTIONS", headers: { origin, "access-control-request-method": "GET" } });
  const hints: string[] = [];
  for (const origin of origins) {
    const refused = await preflight(served.url, origin);
    expect(refused.status).toBe(403);
    const { error } = (await refused.json()) as { readonly error: { readonly message: string } };
    hints.push(/`millrace (config set serve\.allow_origin [^`]+)`/.exec(error.message)?.[1] ?? "");
  }
  const [first = "", ...others] = hints;
  const words = [...first.split(" "), ...others.map((hint) => hint.split(" ").at(-1) ?? "")]; // beside those allowed before
  expect(await millrace(words, { home })).toMatchObject({ code: 0 });
  await served.stop();
  const next = await gateway({ home });
  for (const origin of origins) {
    const allowed = await preflight(next.url, origin);
    expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([204, origin]);
  }
  const none = await preflight(next.url, "null");
  expect(await none.text()).toContain("They cannot be allowed");
});
