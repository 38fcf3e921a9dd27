import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { readDashboard } from "../dashboard/dashboard-files.ts";
import { fakeGateway, guestKey } from "../gateway.fake.ts";
import { routes } from "./all-routes.ts";
import { anonymous, signedIn, signInPath } from "./signed-in.fake.ts";

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

  it("are undefined where the dashboard was not built: a short page says how to build it", async () => {
    expect(readDashboard(join(tmpdir(), "millrace-nothing-here"))).toBeUndefined();
    expect(await (await fakeGateway().request("/", { headers: anonymous })).text()).toMatch(
      /local gateway[^]*npm run build/,
    );
  });
});

describe("signing in", () => {
  const newLink = async (fake: ReturnType<typeof fakeGateway>) =>
    ((await (await fake.request("/dashboard/api/link", { method: "POST" })).json()) as { path: string }).path;
  const use = (fake: ReturnType<typeof fakeGateway>, link: string) =>
    fake.request(signInPath(link), { method: "POST", headers: anonymous });

  it("takes a link that only the owner's key makes, once, and answers with a session that is in no cookie and no address", async () => {
    const fake = fakeGateway();
    expect((await fake.request("/dashboard/api/link", { method: "POST", headers: anonymous })).status).toBe(401);
    const guest = { authorization: `Bearer ${guestKey}` };
    expect((await fake.request("/dashboard/api/link", { method: "POST", headers: guest })).status).toBe(403);
    const path = await newLink(fake);
    expect(path).toMatch(/^\/#\/sign-in\/[\w-]{43}$/);
    const first = await use(fake, path);
    expect(await first.json()).toEqual({ object: "session", session: expect.stringMatching(/^[\w-]{43}$/) });
    expect([first.headers.get("set-cookie"), first.headers.get("location")]).toEqual([null, null]);
    const again = await use(fake, path);
    expect([again.status, await again.text()]).toEqual([403, expect.stringContaining("millrace dashboard")]);
    expect(JSON.stringify(fake.logged)).not.toContain(path.split("/").at(-1));
  });

  it("uses a link up by nothing that a browser, a preview or a scanner asks by itself", async () => {
    const fake = fakeGateway({ dashboard: builtDashboard() });
    const path = await newLink(fake);
    for (const method of ["HEAD", "GET", "OPTIONS"])
      for (const asked of ["/", signInPath(path)]) await fake.request(asked, { method, headers: anonymous });
    expect((await use(fake, path)).status).toBe(200);
  });

  it("opens what the owner's key opens, by its header and not by a cookie", async () => {
    const fake = fakeGateway();
    const session = await signedIn(fake);
    const value = session["x-millrace-session"] ?? "";
    expect((await fake.request("/v1/turns", { headers: session })).status).toBe(200);
    const foreign = { ...session, origin: "http://127.0.0.1:9999" };
    expect((await fake.request("/v1/turns", { headers: foreign })).status).toBe(403);
    // A browser sends cookies by itself, to every port of this host. They are not enough.
    const browsers = { authorization: "", cookie: `millrace_session=${value}; x-millrace-session=${value}` };
    for (const site of ["same-origin", "same-site", "none"])
      for (const { method, path } of routes.filter(({ dashboard, guard }) => dashboard === true && guard !== "open")) {
        const headers = { ...browsers, "sec-fetch-site": site };
        const { status } = await fake.request(path.replaceAll(/\{\w+\}/g, "x"), { method, headers });
        expect([method, path, status]).toEqual([method, path, 401]);
      }
  });

  it("ends by signing out, by itself after eight days without a use, and after ninety days of use", async () => {
    const clock = new FakeClock();
    const fake = fakeGateway({ clock });
    const [one, other] = [await signedIn(fake), await signedIn(fake)];
    const out = await fake.request("/sign-out", { method: "POST", headers: one });
    expect(await out.json()).toEqual({ object: "session", signed_in: false });
    expect((await fake.request("/v1/turns", { headers: one })).status).toBe(401);
    expect((await fake.request("/v1/turns", { headers: other })).status).toBe(200);
    const day = 86_400_000;
    for (let used = 0; used < 12; used++) {
      await clock.advance(7.4 * day); // a page that is open
      expect((await fake.request("/v1/turns", { headers: other })).status).toBe(200);
    }
    await clock.advance(1.3 * day);
    expect((await fake.request("/v1/turns", { headers: other })).status).toBe(401);
    const idle = await signedIn(fake);
    await clock.advance(8 * day + 1);
    expect((await fake.request("/v1/turns", { headers: idle })).status).toBe(401);
  });

  it("is refused with a link older than two minutes, and with a made-up code", async () => {
    const clock = new FakeClock();
    const fake = fakeGateway({ clock });
    const path = await newLink(fake);
    await clock.advance(120_001);
    expect((await use(fake, path)).status).toBe(403);
    for (const made of ["/sign-in?code=", "/sign-in", "/sign-in?code=made-up"])
      expect((await use(fake, made)).status).toBe(403);
  });
});
