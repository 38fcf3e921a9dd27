import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { readDashboard } from "../dashboard/dashboard-files.ts";
import { fakeGateway, guestKey } from "../gateway.fake.ts";
import { anonymous, signedIn } from "./signed-in.fake.ts";

/** A built dashboard in a folder of its own. */
function builtDashboard() {
  const folder = mkdtempSync(join(tmpdir(), "millrace-dashboard-"));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>Millrace</title><style>b{}</style>");
  writeFileSync(join(folder, "assets", "index-abc123.js"), "export {};");
  writeFileSync(join(folder, "notes.txt"), "not for the web");
  return readDashboard(folder);
}

describe("the dashboard's files", () => {
  it("are served without a key, under a policy that allows nothing from elsewhere, and inline only what was built into the page", async () => {
    const fake = fakeGateway({ dashboard: builtDashboard() });
    const page = await fake.request("/", { headers: anonymous });
    expect(page.status).toBe(200);
    expect(await page.text()).toContain("<title>Millrace</title>");
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    const built = createHash("sha256").update("b{}").digest("base64");
    expect(policy.split("; ")).toEqual(
      expect.arrayContaining(["script-src 'self'", `style-src 'self' 'sha256-${built}'`]),
    );
    expect(page.headers.get("cache-control")).toBe("no-cache");
    const script = await fake.request("/assets/index-abc123.js", { headers: anonymous });
    expect(script.headers.get("content-type")).toContain("text/javascript");
    expect(script.headers.get("cache-control")).toContain("immutable");
  });

  it("are only those that were built: no other path opens", async () => {
    const fake = fakeGateway({ dashboard: builtDashboard() });
    for (const path of ["/notes.txt", "/assets/../index.html.map", "/assets/%2e%2e/package.json", "/assets/other.js"]) {
      expect((await fake.request(path, { headers: anonymous })).status).toBe(401);
      expect((await fake.request(path)).status).toBe(404);
    }
  });

  it("are undefined where the dashboard was not built: a short page stands there", async () => {
    expect(readDashboard(join(tmpdir(), "millrace-nothing-here"))).toBeUndefined();
    expect(await (await fakeGateway().request("/", { headers: anonymous })).text()).toContain("local gateway");
  });
});

describe("signing in", () => {
  it("takes a link that only the owner's key makes, once, and sets a cookie that no script and no other site can use", async () => {
    const fake = fakeGateway();
    expect((await fake.request("/v1/dashboard/link", { method: "POST", headers: anonymous })).status).toBe(401);
    const guest = { authorization: `Bearer ${guestKey}` };
    expect((await fake.request("/v1/dashboard/link", { method: "POST", headers: guest })).status).toBe(403);
    const { path } = (await (await fake.request("/v1/dashboard/link", { method: "POST" })).json()) as { path: string };
    expect(path).toMatch(/^\/sign-in\?code=[\w-]{43}$/);
    const first = await fake.request(path, { headers: anonymous });
    expect([first.status, first.headers.get("location")]).toEqual([303, "/"]);
    expect(first.headers.get("set-cookie")).toMatch(
      /^millrace_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const again = await fake.request(path, { headers: anonymous });
    expect([again.status, again.headers.get("set-cookie")]).toEqual([403, null]);
    expect(await again.text()).toContain("millrace dashboard");
    // Where the dashboard is built, its own page is served there and says so.
    const built = fakeGateway({ dashboard: builtDashboard() });
    const page = await built.request("/sign-in?code=made-up", { headers: anonymous });
    expect([page.status, page.headers.get("content-type")]).toEqual([403, "text/html; charset=utf-8"]);
    expect(await page.text()).toContain("<title>Millrace</title>");
    expect(JSON.stringify(fake.logged)).not.toContain(path.split("=")[1]);
  });

  it("opens what the owner's key opens, only from this origin", async () => {
    const fake = fakeGateway();
    const session = await signedIn(fake);
    expect((await fake.request("/v1/turns", { headers: session })).status).toBe(200);
    for (const site of ["cross-site", "same-site", ""]) {
      const headers = { ...session, "sec-fetch-site": site };
      expect((await fake.request("/v1/turns", { headers })).status).toBe(401);
    }
    const foreign = { ...session, origin: "http://127.0.0.1:9999" };
    expect((await fake.request("/v1/turns", { headers: foreign })).status).toBe(403);
  });

  it("ends by signing out, and by itself after twelve hours", async () => {
    const clock = new FakeClock();
    const fake = fakeGateway({ clock });
    const [one, other] = [await signedIn(fake), await signedIn(fake)];
    const out = await fake.request("/sign-out", { method: "POST", headers: one });
    expect(out.headers.get("set-cookie")).toContain("Max-Age=0");
    expect((await fake.request("/v1/turns", { headers: one })).status).toBe(401);
    expect((await fake.request("/v1/turns", { headers: other })).status).toBe(200);
    await clock.advance(12 * 3_600_000 + 1);
    expect((await fake.request("/v1/turns", { headers: other })).status).toBe(401);
  });

  it("is refused with a link older than two minutes, and with a made-up code", async () => {
    const clock = new FakeClock();
    const fake = fakeGateway({ clock });
    const { path } = (await (await fake.request("/v1/dashboard/link", { method: "POST" })).json()) as { path: string };
    await clock.advance(120_001);
    expect((await fake.request(path, { headers: anonymous })).status).toBe(403);
    expect((await fake.request("/sign-in?code=", { headers: anonymous })).status).toBe(403);
    expect((await fake.request("/sign-in", { headers: anonymous })).status).toBe(403);
  });
});
