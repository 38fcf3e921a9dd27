import { expect, it } from "vitest";
import { MillraceError } from "../../src/base/errors.ts";
import type { IssuedKey } from "../../src/gateway/dashboard/inventory.ts";
import { accessibilityViolations } from "./chromium.ts";
import { describeDashboard, docPicture, hasNoSideScroll, picture } from "./dashboard-page.ts";

describeDashboard("the dashboard's notices, models and keys", (open) => {
  it("says at once, and on every view of the plan, that the log cannot be written", async () => {
    const degradedBy = new MillraceError("degraded", "The disk is full.", { hint: "Free some space." });
    const { page } = await open({ degradedBy });
    const alert = page.getByRole("alert").filter({ hasText: "The log cannot be written." });
    await alert.waitFor();
    expect(await alert.innerText()).toMatch(/The disk is full\..*Free some space\./);
    await picture(page, "degraded");
  });

  it("shows the IDEs found, with doctor's verdicts and what to do", async () => {
    const { page } = await open();
    await page.getByRole("button", { name: /Devin Desktop\s*ready/ }).click();
    const ides = page.locator("section[aria-labelledby=ides]");
    await ides.getByText("metered only").waitFor();
    expect(await ides.locator(".rows li").allInnerTexts()).toEqual([
      expect.stringMatching(/^Devin Desktop\s+2\.3\.15, process 4711\s+ready$/),
      expect.stringMatching(/^Devin Desktop Next stand-in\s+2\.4\.0\+next\.1, process 4712\s+not signed in$/),
      expect.stringMatching(/^Antigravity\s+1\.14\.2, process 4713\s+metered only$/),
    ]);
    expect(await ides.locator(".findings .warning").innerText()).toContain("please report it");
    await ides.getByText("Checked and not used (1)").click();
    await ides.getByText("its port belongs to another user").waitFor();
  });

  it("tells a first-run user without an IDE what to do next, instead of empty charts", async () => {
    const plan = new MillraceError("ide_not_running", "No IDE with a language server runs.");
    const { page } = await open({ plan, pastTurns: 0 });
    await page.getByText("No limits yet").waitFor();
    await page.getByText("millrace doctor").first().waitFor();
    await page.getByText("/v1", { exact: false }).first().waitFor();
    expect(await page.locator("canvas").count()).toBe(0);
    await expect.poll(() => page.locator("main section h2").allInnerTexts()).toEqual(["Plan", "No turns yet"]);
    expect(await accessibilityViolations(page)).toEqual([]);
    await picture(page, "first-run");
  });

  it("says in one banner that the gateway is away, stands still meanwhile, and leaves nothing of it afterwards", async () => {
    const { page, world } = await open({}, { mayComplain: /ERR_|network/i });
    world.ask("Hi");
    const row = page.locator("[data-turn]");
    await row.getByText("waiting").waitFor();
    await world.stop();
    const banner = page.getByRole("alert").filter({ hasText: "The gateway does not answer." });
    await banner.waitFor();
    expect(await banner.innerText()).toMatch(/Since .*\d\d:\d\d.*millrace serve/);
    await page.locator("main.stale").waitFor();
    const standing = await row.locator(".of-age").innerText();
    // Nothing fresh can come: each attempt to read fails, and is one more chance for a clock to go on.
    for (let attempt = 0; attempt < 3; attempt++) {
      const failed = page.waitForEvent("requestfailed");
      await page.getByRole("button", { name: "Read again" }).click();
      await failed;
    }
    await page.waitForFunction((since) => Date.now() > since + 2000, Date.now());
    expect(await row.locator(".of-age").innerText()).toBe(standing);
    expect(await page.getByText("does not answer").count()).toBe(1);
    expect(await page.getByRole("meter", { name: "Weekly quota" }).count()).toBe(1);
    await picture(page, "gateway-away");
    expect(await accessibilityViolations(page)).toEqual([]);
    await world.start();
    await expect.poll(() => page.getByText("does not answer").count()).toBe(0);
    await page.getByText("live", { exact: true }).waitFor();
    expect(await page.locator("main.stale, .failure").count()).toBe(0);
  });

  it("says at the top that no IDE can be used, and no longer once one can", async () => {
    const { page, world } = await open({ plan: "none" });
    const banner = page.getByRole("alert").filter({ hasText: "No IDE can be used." });
    await banner.waitFor();
    expect(await banner.innerText()).toContain("Start Windsurf and open a folder.");
    expect((await banner.boundingBox())?.y).toBeLessThan(120);
    world.findIdes();
    await banner.waitFor({ state: "detached" });
  });

  it.each([
    ["light", 1200],
    ["dark", 375],
  ] as const)("shows models with variants, cost and context, in %s at %i px", async (colorScheme, width) => {
    const { page, world } = await open({}, { colorScheme, viewport: { width, height: 480 } });
    await page.goto(`${world.url}/#/models`);
    const rows = page.locator("table.models tbody tr");
    await rows.first().waitFor();
    expect(await rows.count()).toBe(4);
    expect(await rows.nth(0).innerText()).toMatch(/swe-1.5[\s\S]*free/);
    // The family's own name and prices, whichever of its variants was used last.
    const family = page.getByRole("row", { name: /claude-opus-4.5 .*2 variants/ });
    expect(await family.innerText()).toMatch(/2 – 4 credits a prompt/);
    await page.getByRole("button", { name: /2 variants/ }).click();
    await page.getByRole("rowheader", { name: "claude-opus-4.5:low" }).waitFor();
    await page.getByText("Your plan does not include this model.").waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy the name swe-1.5" }).click();
    await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe("swe-1.5");
    await picture(page, `models-${colorScheme}`);
    if (colorScheme === "light") await docPicture(page, "dashboard-models");
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await hasNoSideScroll(page)).toBe(true);
    await page.getByLabel("Search models").fill("anthropic");
    await expect.poll(() => rows.count()).toBe(3);
  });

  it("shows the keys of others with what they may and have used, and no page of keys without any", async () => {
    const nowMs = Date.now();
    const key = { createdAtMs: nowMs - 9e8, expiresAtMs: undefined, revokedAtMs: undefined, models: [] };
    const resetsAtMs = nowMs + 5 * 3_600_000 + 60_000;
    const keys: readonly IssuedKey[] = [
      {
        ...key,
        name: "ci",
        caller: "1",
        state: "works",
        models: ["swe-1.5"],
        expiresAtMs: nowMs + 40 * 86_400_000,
        turnsPerDay: { most: 200, used: 174, resetsAtMs },
      },
      { ...key, name: "ada", caller: "2", state: "works", turnsPerDay: undefined },
    ];
    const { page } = await open({ keys }, { viewport: { width: 1200, height: 400 } });
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Keys" }).click();
    const ci = page.getByRole("article", { name: "Key ci" });
    await ci.getByText("174 of 200 turns").waitFor();
    expect(await ci.innerText()).toMatch(/expires in 39 d[\s\S]*resets in 5 h/);
    await page.getByRole("article", { name: "Key ada" }).getByText("No limit of turns").waitFor();
    await picture(page, "keys");
    expect(await accessibilityViolations(page)).toEqual([]);
    const without = await open();
    await without.page.getByText("live", { exact: true }).waitFor();
    expect(await without.page.getByRole("link", { name: "Keys" }).count()).toBe(0);
  });

  it("says at the top that the gateway is paused, since when, and what to do", async () => {
    const { page, world } = await open();
    // Without the page's own rounds: only the gateway can tell it.
    await page.addInitScript(
      "const later = setTimeout; window.setTimeout = (work, ms) => (ms >= 10_000 ? 0 : later(work, ms));",
    );
    await page.reload();
    await page.getByText("live", { exact: true }).waitFor();
    world.pause("2026-01-02T10:20:00.000Z");
    const banner = page.getByRole("alert").filter({ hasText: "Millrace is paused." });
    await banner.waitFor();
    expect(await banner.innerText()).toMatch(/No prompt is sent\..*Since .*2.*millrace resume/);
    await picture(page, "paused");
    expect(await accessibilityViolations(page)).toEqual([]);
    world.pause(null);
    await banner.waitFor({ state: "detached" });
    world.loseIdes();
    await page.getByRole("alert").filter({ hasText: "No IDE can be used." }).waitFor();
  });

  it("says at the top that consent is missing, and gives it with one button", async () => {
    const { page } = await open({ needsConsent: true });
    const banner = page
      .getByRole("alert")
      .filter({ hasText: "You have not agreed yet that prompts go to Devin Desktop." });
    await banner.waitFor();
    expect(await banner.innerText()).toMatch(/They use the plan\..*millrace init --accept/s);
    await picture(page, "consent");
    expect(await accessibilityViolations(page)).toEqual([]);
    await banner.getByRole("button", { name: "I agree" }).click();
    await banner.waitFor({ state: "detached" });
    await page.reload();
    await page.getByText("live", { exact: true }).waitFor();
    expect(await banner.count()).toBe(0);
  });
});
