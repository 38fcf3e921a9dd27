import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MillraceError } from "../../src/base/errors.ts";
import type { IssuedKey } from "../../src/gateway/dashboard/inventory.ts";
import { patienceMs } from "../support/world.ts";
import { dashboardPages, docPicture, hasChromium, hasNoSideScroll, picture, skipReason } from "./dashboard-pages.ts";
import { accessibilityViolations } from "./dashboard-world.ts";

describe.skipIf(!hasChromium)(`the dashboard in Chromium${skipReason}`, () => {
  const open = dashboardPages();

  it("opens by a one-time link that leaves no secret in the address, and closes by signing out", async () => {
    const { page, world } = await open();
    expect(page.url()).toBe(`${world.url}/`);
    await page.getByRole("article", { name: "Limits of Devin Desktop (Windsurf)", exact: true }).waitFor();
    await page.reload();
    await page.getByRole("article", { name: "Limits of Devin Desktop (Windsurf)", exact: true }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("millrace dashboard").waitFor();
  });

  it("shows limits with the even-pace tick and the verdict, said to screen readers too", async () => {
    const { page } = await open();
    const weekly = page.getByRole("meter", { name: "Weekly quota" });
    await weekly.waitFor();
    expect(await weekly.getAttribute("aria-valuenow")).toBe("61");
    expect(await weekly.getAttribute("aria-valuetext")).toMatch(/61 % used, resets in 4 d 16 h, runs out in 1 d/);
    expect(await weekly.locator(".tick").getAttribute("style")).toMatch(/left: 33\.\d+%/);
    await page.getByText("12 % more left than an even pace").waitFor();
    await page.getByText("$12.50 left").waitFor();
    const antigravity = page.getByRole("article", { name: "Limits of Antigravity" });
    await antigravity.getByRole("meter", { name: "Other models, 5 hours" }).waitFor();
    await antigravity.getByText("By model (3)").click();
    await antigravity.getByRole("meter", { name: "Claude Opus 4.5" }).waitFor();
    expect(await page.content()).not.toContain("ada@example.com");
    await picture(page, "limits");
  });

  it("shows a running turn grow and end, live, and counts it", async () => {
    const { page, world } = await open({ pastTurns: 0 });
    await page.getByText("No turns yet").waitFor();
    world.ask("Write a poem.", "/home/ada/work/poems");
    const row = page.locator("li[data-turn]");
    await row.getByText("opencode · poems").waitFor();
    await row.getByText("waiting").waitFor();
    world.turns.backend.last.text("A millrace runs ", "beneath the wheel.");
    await row.getByText("~9 tokens").waitFor();
    await picture(page, "live");
    world.turns.backend.last.emit({
      type: "usage",
      promptTokens: 1719,
      completionTokens: 25,
      thinkingTokens: 0,
      estimated: false,
    });
    world.turns.backend.last.finish("A millrace runs beneath the wheel.");
    await page.getByRole("heading", { name: "Latest turns" }).waitFor();
    await page.locator("table.turns td").getByText("1,719").waitFor();
    await page.getByText("No turn runs now.").waitFor();
    const spent = page.locator("section[aria-labelledby=spend] tbody tr");
    await spent.waitFor();
    expect(await spent.innerText()).toMatch(/model\s+1\s+1,744/);
  });

  it("cancels a running turn", async () => {
    const { page, world } = await open();
    world.ask("Count to a million.");
    await page.getByRole("button", { name: "Cancel test-model" }).click();
    await page.getByText("cancelled: by the client").waitFor();
    expect((await world.turns.turns.list({ limit: 1 }))[0]).toMatchObject({ outcome: "cancelled" });
  });

  it("shows a turn's page with its events and sizes, and none of its text", async () => {
    const { page, world } = await open();
    world.ask("secret question");
    const link = page.getByRole("link", { name: "test-model" });
    await link.waitFor();
    world.turns.backend.last.text("secret ", "answer");
    world.turns.backend.last.finish("secret answer");
    const ended = page.locator("table.turns tbody tr", { hasText: "just now" });
    await ended.getByText("finished").waitFor();
    await ended.getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "test-model" }).waitFor();
    const events = page.locator(".timeline li");
    await events.filter({ hasText: "finished" }).waitFor();
    expect(await events.filter({ hasText: "text" }).innerText()).toContain("13 characters");
    await page.getByText("Not resumed.").waitFor();
    await page.getByText("millrace serve --dashboard-text").waitFor();
    expect(await page.content()).not.toContain("secret");
    await picture(page, "turn");
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole("link", { name: "← Overview" }).click();
    await page.getByRole("heading", { name: "Limits", exact: true }).waitFor();
  });

  it("shows on a turn's page who came back to it, where it happened, while it runs", async () => {
    const { page, world } = await open({ pastTurns: 0 });
    const key = { "idempotency-key": "one-question" };
    world.ask("question", "/home/ada/work/engine", key);
    await page.getByRole("link", { name: "test-model" }).click();
    const rows = page.locator(".timeline li");
    await rows.filter({ hasText: "opened" }).waitFor();
    world.turns.backend.last.text("A millrace runs ");
    await rows.filter({ hasText: "16 characters" }).waitFor();
    world.ask("question", undefined, { ...key, "user-agent": "codex/0.9" });
    // At once: the turn itself says nothing meanwhile.
    await expect
      .poll(() => rows.allInnerTexts())
      .toContainEqual(expect.stringMatching(/joined\s+codex\/0.9, with the same idempotency key, from the start/));
    await page.getByText("Resumed once.").waitFor();
    world.turns.backend.last.text("beneath the wheel.");
    world.turns.backend.last.finish("A millrace runs beneath the wheel.");
    await rows.filter({ hasText: "finished" }).waitFor();
    const kinds = await page.locator(".timeline .type").allInnerTexts();
    expect(kinds.slice(0, 6)).toEqual(["asked", "opened", "accepted", "text", "joined", "text"]);
    await picture(page, "turn-joined");
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("shows of a turn that its client sealed what happened, how much and when, and says who alone can read it", async () => {
    const { page, world } = await open({ pastTurns: 0, dashboardText: true });
    await world.askSealed("secret question");
    const row = page.locator("li[data-turn]");
    await row.getByText("encrypted by its client").waitFor();
    await row.getByText("millrace-chat").waitFor();
    world.turns.backend.last.text("secret answer");
    await row.getByText("~4 tokens").waitFor();
    await row.getByRole("link", { name: "some-model" }).click();
    const rows = page.locator(".timeline li");
    await rows.filter({ hasText: "13 characters" }).waitFor();
    world.turns.backend.last.emit({
      type: "usage",
      promptTokens: 17,
      completionTokens: 4,
      thinkingTokens: 0,
      estimated: false,
    });
    world.turns.backend.last.finish("secret answer");
    await rows.filter({ hasText: "finished" }).waitFor();
    const facts = page.locator("dl.facts");
    await facts.getByText("17 in, 4 out").waitFor();
    await facts.getByText("13 characters").waitFor();
    await page.getByText("Only that client can read the prompt and the answer.").waitFor();
    expect(await facts.getByText("unknown").count()).toBe(0);
    await picture(page, "turn-sealed");
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole("link", { name: "← Overview" }).click();
    const ended = page.locator("table.turns tbody tr");
    await ended.getByText("millrace-chat").waitFor();
    await ended.locator(".of-tokens_in").getByText("17").waitFor();
    await picture(page, "sealed-list");
    expect(await page.content()).not.toContain("secret");
  });

  it("shows the texts of a turn where the user turned that on", async () => {
    const { page, world } = await open({ pastTurns: 0, dashboardText: true }, { colorScheme: "dark" });
    world.ask("What is a millrace?");
    await page.getByRole("link", { name: "test-model" }).click();
    world.turns.backend.last.text("The channel that feeds ");
    const answer = page.locator("details", { hasText: "answer" }).locator("pre");
    await expect.poll(() => answer.innerText()).toBe("The channel that feeds ");
    world.turns.backend.last.text("a mill wheel.");
    world.turns.backend.last.finish("The channel that feeds a mill wheel.");
    await expect.poll(() => answer.innerText()).toBe("The channel that feeds a mill wheel.");
    await page.getByText("What is a millrace?").waitFor();
    await picture(page, "turn-text");
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("says at once, and on every view of the plan, that the log cannot be written", async () => {
    const degradedBy = new MillraceError("degraded", "The disk is full.", { hint: "Free some space." });
    const { page } = await open({ degradedBy });
    const alert = page.getByRole("alert").filter({ hasText: "The log cannot be written." });
    await alert.waitFor();
    expect(await alert.innerText()).toMatch(/The disk is full\..*Free some space\./);
    await picture(page, "degraded");
  });

  it("warns that the shared store may lose answers, and says what helps", async () => {
    const { page } = await open({ weaknesses: ["replica_gone", "not_persistent"] });
    const alert = page.getByRole("alert").filter({ hasText: "The store may lose answers." });
    await alert.waitFor();
    expect(await alert.innerText()).toMatch(/follows it no more.*Start the replica again\..*`?appendonly yes/s);
    expect(await alert.getAttribute("class")).toBe("banner warn");
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("shows the IDEs found, with doctor's verdicts and what to do", async () => {
    const { page } = await open();
    const ides = page.locator("section[aria-labelledby=ides]");
    await ides.getByText("metered only").waitFor();
    expect(await ides.locator(".rows li").allInnerTexts()).toEqual([
      expect.stringMatching(/^Devin Desktop \(Windsurf\)\s+2\.3\.15, process 4711\s+ready$/),
      expect.stringMatching(/^Devin Desktop Next \(Windsurf Next\)\s+2\.4\.0\+next\.1, process 4712\s+not signed in$/),
      expect.stringMatching(/^Antigravity\s+1\.14\.2, process 4713\s+metered only$/),
    ]);
    expect(await ides.locator(".findings .warning").innerText()).toContain("please report it");
    await ides.getByText("Checked and not used (1)").click();
    await ides.getByText("its port belongs to another user").waitFor();
  });

  it("says that a link was used, and leaves nothing of it in the address", async () => {
    const { page, world } = await open({}, { mayComplain: /403/ });
    const link = await world.link();
    await page.goto(link);
    await page.getByText("live", { exact: true }).waitFor();
    await page.context().clearCookies();
    for (const stale of [link, `${world.url}/sign-in?code=made-up`]) {
      await page.goto(stale);
      await page.getByRole("alert").filter({ hasText: "already used, or has expired" }).waitFor();
      expect(page.url()).toBe(`${world.url}/`);
    }
    await picture(page, "used-link");
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("reconnects by itself after a restart of the gateway, still signed in", async () => {
    const { page, world } = await open({}, { mayComplain: /ERR_|network/i });
    await page.getByText("live", { exact: true }).waitFor();
    await world.restart();
    world.ask("Still there?");
    await page.getByRole("button", { name: "Cancel test-model" }).waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    expect(await page.getByRole("meter", { name: "Weekly quota" }).count()).toBe(1);
  });

  it("shows who spent it, by any dimension and time, with estimates marked", async () => {
    const { page } = await open();
    const table = page.locator("section[aria-labelledby=spend] table");
    await table.getByRole("rowheader", { name: "claude-opus-4.5:high" }).waitFor();
    await page.getByText("~ marks partly estimated values").waitFor();
    await page.getByRole("group", { name: "Group by" }).getByRole("button", { name: "Project" }).click();
    await table.getByRole("rowheader", { name: "engine" }).waitFor();
    await table.getByRole("rowheader", { name: "unknown" }).waitFor();
    expect(
      await page
        .getByRole("group", { name: "Group by" })
        .getByRole("button", { name: "Project" })
        .getAttribute("aria-pressed"),
    ).toBe("true");
    await page.getByRole("button", { name: "Day", exact: true }).click();
    await table
      .getByRole("rowheader", { name: /^\d{4}-\d\d-\d\d$/ })
      .first()
      .waitFor();
  });

  it("knows a user whose turns the log has forgotten from one who never had any", async () => {
    const { page } = await open({ plan: "none" });
    await page.locator("#spend").waitFor();
    await page.getByRole("rowheader", { name: "claude-opus-4.5:high" }).first().waitFor();
    await page.getByText("No turn runs now.").waitFor();
    expect(await page.getByText("No turns yet").count()).toBe(0);
  });

  it("draws the whole period that was asked for, says each value by keyboard, and agrees with the cards", async () => {
    const { page } = await open();
    const chart = page.getByRole("slider", { name: "Time on the chart" });
    await chart.waitFor();
    // The last reading of the history says 60 %; what was read just now, and the card, say 61.
    await expect.poll(() => chart.getAttribute("aria-valuetext")).toContain("Weekly quota 61 % used");
    expect(await page.locator(".legend li").allInnerTexts()).toContain(
      "Devin Desktop (Windsurf), Daily quota 38 % used",
    );
    await chart.press("Home");
    const first = (await chart.getAttribute("aria-valuetext")) ?? "";
    expect(first).toContain("Weekly quota 0 % used");
    expect(await page.locator("section[aria-labelledby=history] .at-time").innerText()).toBe(first.split(": ")[0]);
    await chart.press("ArrowRight");
    expect(await chart.getAttribute("aria-valuetext")).toContain("Weekly quota 1 % used");
    await chart.hover({ position: { x: 100, y: 60 } });
    expect(await page.locator("section[aria-labelledby=history] .at-time").innerText()).not.toBe("Now");
    await page.getByRole("group", { name: "Period of the chart" }).getByRole("button", { name: "24 h" }).click();
    await page.mouse.move(0, 0);
    await expect.poll(() => page.locator("section[aria-labelledby=history] .at-time").innerText()).toBe("Now");
    await picture(page, "chart-24h");
  });

  it("shows all ended turns in a table that sorts, filters, searches and pages, with failures set apart", async () => {
    const { page } = await open({ pastTurns: 300, everyMs: 60_000 });
    const rows = page.locator("table.turns tbody tr");
    const pages = page.getByRole("navigation", { name: "Pages of turns" });
    await pages.getByText("1–25 of 300").waitFor();
    await pages.getByRole("button", { name: "Last" }).click();
    await pages.getByText("276–300 of 300").waitFor();
    await page.getByRole("button", { name: "Tokens in" }).click();
    await page.locator("th[aria-sort=descending]", { hasText: "Tokens in" }).waitFor();
    await expect.poll(() => rows.first().locator(".of-tokens_in").innerText()).toBe("10,969");
    await page.getByLabel("Status").selectOption("failed");
    await pages.getByText("1–25 of 28").waitFor();
    expect(await rows.first().getAttribute("class")).toBe("failed");
    await page.getByLabel("Client", { exact: true }).selectOption("codex");
    await expect.poll(() => rows.count()).toBe(9);
    await page.getByLabel("Client", { exact: true }).selectOption("");
    await page.getByLabel("Search turns").fill("past_11");
    await expect.poll(() => rows.count()).toBe(2);
    expect(await rows.first().locator(".of-time time").getAttribute("title")).toMatch(/\d{4}/);
    expect(await accessibilityViolations(page)).toEqual([]);
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as CSV" }).click();
    const saved = readFileSync(await (await saving).path(), "utf8")
      .trimEnd()
      .split("\r\n");
    expect(saved.map((line) => line.split(",")[0])).toEqual(["id", "turn_past_110", "turn_past_11"]);
    await page.getByLabel("Search turns").fill("no such turn");
    await page.getByText("No turn of the last 30 days matches.").waitFor();
  });

  it("sums up today in tiles", async () => {
    const { page, world } = await open({ pastTurns: 0 });
    await page.getByText("No turns yet").waitFor();
    world.ask("Hi");
    await page.locator("li[data-turn]").getByText("waiting").waitFor();
    world.turns.backend.last.text("Hello");
    world.turns.backend.last.finish("Hello");
    const tile = (name: string) => page.locator(".tiles div", { hasText: name }).locator("dd");
    await expect.poll(() => tile("Turns today").innerText()).toBe("1");
    expect(await tile("Failed").innerText()).toBe("0 %");
    expect(await tile("First token, median").innerText()).toMatch(/^[\d.]+ m?s$/);
  });

  it("paints its frame, in the colours that were chosen, before any of its files has come", async () => {
    const { page, world } = await open();
    await page.evaluate("localStorage.setItem('millrace-theme', 'dark')");
    await page.route("**/assets/**", () => undefined); // no answer ever
    await page.goto(world.url, { waitUntil: "commit" });
    await page.locator(".brand").waitFor();
    await expect
      .poll(() => page.evaluate("performance.getEntriesByName('first-contentful-paint').length"), {
        timeout: patienceMs,
      })
      .toBe(1);
    expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("dark");
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  it("keeps a turn within 56 px and its names whole on a phone", async () => {
    const { page, world } = await open({ dashboardText: true }, { viewport: { width: 375, height: 800 } });
    const rows = page.locator("table.turns tbody tr");
    await rows.first().waitFor();
    world.ask("Hi", "/home/ada/work/a-project-with-quite-a-long-name-that-goes-on");
    const running = page.locator("li[data-turn]");
    await running.waitFor();
    expect((await running.boundingBox())?.height).toBeLessThanOrEqual(56);
    world.turns.backend.last.text("The water enters at the upper gate, follows the channel and falls on the wheel.");
    await running.locator(".tail").waitFor();
    expect((await running.boundingBox())?.height).toBeLessThanOrEqual(56);
    for (const row of (await rows.all()).slice(0, 5)) {
      expect((await row.boundingBox())?.height).toBeLessThanOrEqual(56);
      expect((await row.locator(".of-model").boundingBox())?.height).toBeLessThan(30);
    }
    expect(await hasNoSideScroll(page)).toBe(true);
    await picture(page, "phone-375");
    await docPicture(page, "dashboard-phone");
  });

  it("shows of a turn that the log has forgotten what the usage history knows, and says so of an unknown one", async () => {
    const { page, world } = await open({}, { mayComplain: /404/ });
    await page.locator("table.turns tbody tr.finished").first().getByRole("link").click();
    await page.getByText("The log no longer has the events of this turn.").waitFor();
    await page.locator("dl.facts").getByText("turn_past_1", { exact: true }).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.goto(`${world.url}/#/turns/turn_nobody`);
    await page.getByRole("heading", { level: 1, name: "This turn is unknown" }).waitFor();
    expect(await page.locator(".failure").count()).toBe(0);
  });

  it("keeps the colours that were chosen", async () => {
    const { page } = await open();
    const background = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
    const light = await background();
    await page.getByRole("button", { name: "Dark" }).click();
    expect(await background()).not.toBe(light);
    const dark = await background();
    await page.reload();
    await page.getByText("live", { exact: true }).waitFor();
    expect(await background()).toBe(dark);
  });

  it("tells a first-run user without an IDE what to do next, instead of empty charts", async () => {
    const plan = new MillraceError("ide_not_running", "No IDE with a language server runs.");
    const { page } = await open({ plan, pastTurns: 0 });
    await page.getByText("No limits yet").waitFor();
    await page.getByText("millrace doctor").first().waitFor();
    await page.getByText("/v1", { exact: false }).first().waitFor();
    expect(await page.locator("canvas").count()).toBe(0);
    await expect
      .poll(() => page.locator("section h2").allInnerTexts())
      .toEqual(["Limits", "Running turns", "IDEs found"]);
    expect(await accessibilityViolations(page)).toEqual([]);
    await picture(page, "first-run");
  });

  it.each(["light", "dark"] as const)("is readable in %s, without serious findings of axe", async (colorScheme) => {
    const { page, world } = await open({}, { colorScheme });
    world.ask("Hi");
    await page.getByRole("button", { name: "Cancel test-model" }).waitFor();
    await page.locator(".chart canvas").waitFor();
    await page.locator("#spend").waitFor();
    await page.getByRole("rowheader", { name: "claude-opus-4.5:high" }).first().waitFor();
    await page.getByText("0.0.0-test").waitFor();
    await picture(page, colorScheme);
    await docPicture(page, `dashboard-${colorScheme}`);
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it.each([390, 320])("fits a screen of %i px without scrolling sideways", async (width) => {
    const { page, world } = await open({}, { viewport: { width, height: 844 }, colorScheme: "dark" });
    world.ask("Hi", "/home/ada/work/a-project-with-quite-a-long-name");
    await page.getByRole("button", { name: "Cancel test-model" }).waitFor();
    await page.locator(".chart canvas").waitFor();
    await page.locator("#spend").waitFor();
    await page.getByRole("rowheader", { name: "claude-opus-4.5:high" }).first().waitFor();
    await picture(page, `phone-${width}`);
    expect(await hasNoSideScroll(page)).toBe(true);
  });

  it("is used by keyboard alone: skip link, choices, cancel", async () => {
    const { page, world } = await open();
    world.ask("Hi");
    await page.getByRole("button", { name: "Cancel test-model" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent.trim()")).toBe("Skip to content");
    await page.keyboard.press("Enter");
    const isFocused = async (name: string) =>
      (await page.evaluate(
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent",
      )) === name;
    for (let tabs = 0; tabs < 30 && !(await isFocused("Cancel test-model")); tabs++) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("cancelled: by the client").waitFor();
  });

  it("asks to sign in when the session is over, and opens again by a new link", async () => {
    const { page, world } = await open({}, { mayComplain: /401/ });
    await page.getByText("live", { exact: true }).waitFor();
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Read again" }).click();
    await page.getByRole("heading", { level: 1, name: "Millrace" }).waitFor();
    await picture(page, "sign-in");
    await page.goto(await world.link());
    await page.getByText("live", { exact: true }).waitFor();
    expect(await page.getByRole("meter").count()).toBeGreaterThan(0);
  });

  it("says in one banner that the gateway is away, stands still meanwhile, and leaves nothing of it afterwards", async () => {
    const { page, world } = await open({}, { mayComplain: /ERR_|network/i });
    world.ask("Hi");
    const row = page.locator("li[data-turn]");
    await row.getByText("waiting").waitFor();
    await world.stop();
    const banner = page.getByRole("alert").filter({ hasText: "The gateway does not answer." });
    await banner.waitFor();
    expect(await banner.innerText()).toMatch(/Since .*\d\d:\d\d.*millrace serve/);
    await page.locator("main.stale").waitFor();
    const standing = await row.locator(".figures").innerText();
    // Nothing fresh can come: each attempt to read fails, and is one more chance for a clock to go on.
    for (let attempt = 0; attempt < 3; attempt++) {
      const failed = page.waitForEvent("requestfailed");
      await page.getByRole("button", { name: "Read again" }).click();
      await failed;
    }
    await page.waitForFunction((since) => Date.now() > since + 2000, Date.now());
    expect(await row.locator(".figures").innerText()).toBe(standing);
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

  it("draws what each model spent on each day, and says a day's figures by keyboard", async () => {
    const { page } = await open();
    const chart = page.getByRole("slider", { name: "Day on the chart" });
    await chart.waitFor();
    expect(await page.locator(".column").count()).toBe(30);
    const days = page.locator("section[aria-labelledby=days]");
    expect(await days.locator(".at-time").innerText()).toBe("30 days: 120 credits");
    expect(await days.locator(".legend li").allInnerTexts()).toEqual(["claude-opus-4.5:high 80", "swe-1.5 40"]);
    await chart.press("Home");
    expect(await chart.getAttribute("aria-valuetext")).toMatch(/: 0; claude-opus-4.5:high 0, swe-1.5 0$/);
    await chart.press("End");
    const said = (await chart.getAttribute("aria-valuetext")) ?? "";
    expect(await days.locator(".at-time").innerText()).toBe(`${said.split(";")[0]} credits`);
    await days.getByRole("button", { name: "Tokens" }).click();
    await expect.poll(() => days.locator(".at-time").innerText()).toMatch(/^30 days: ~[\d,]+ tokens$/);
    await days.getByRole("button", { name: "7 d", exact: true }).click();
    await expect.poll(() => page.locator(".column").count()).toBe(7);
  });

  it.each([
    ["light", 1200, /swe-1.5[\s\S]*free[\s\S]*10 min ago/],
    ["dark", 375, /swe-1.5[\s\S]*free/],
  ] as const)(
    "shows models with variants, cost, context and last use, in %s at %i px",
    async (colorScheme, width, used) => {
      const { page, world } = await open({}, { colorScheme, viewport: { width, height: 480 } });
      await page.goto(`${world.url}/#/models`);
      const rows = page.locator("table.models tbody tr");
      await rows.first().waitFor();
      expect(await rows.count()).toBe(4);
      expect(await rows.nth(0).innerText()).toMatch(used);
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
      await expect.poll(() => rows.count()).toBe(2);
    },
  );

  it("shows the keys of others with what they may and have used, and no page of keys without any", async () => {
    const nowMs = Date.now();
    const key = { createdAtMs: nowMs - 9e8, expiresAtMs: undefined, revokedAtMs: undefined, apis: [], models: [] };
    const resetsAtMs = nowMs + 5 * 3_600_000 + 60_000;
    const keys: readonly IssuedKey[] = [
      {
        ...key,
        name: "ci",
        caller: "1",
        state: "works",
        maxTurns: 2,
        models: ["swe-1.5"],
        expiresAtMs: nowMs + 40 * 86_400_000,
        budget: { most: 200, unit: "turns", period: "day", used: 174, resetsAtMs },
      },
      { ...key, name: "ada", caller: "2", state: "works", maxTurns: undefined, budget: undefined },
    ];
    const { page } = await open({ keys }, { viewport: { width: 1200, height: 400 } });
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Keys" }).click();
    const ci = page.getByRole("article", { name: "Key ci" });
    await ci.getByText("174 of 200 turns").waitFor();
    expect(await ci.innerText()).toMatch(/expires in 39 d[\s\S]*resets in 5 h/);
    await ci.getByText("0 of 2").waitFor();
    await page.getByRole("article", { name: "Key ada" }).getByText("No budget").waitFor();
    await picture(page, "keys");
    await docPicture(page, "dashboard-keys");
    expect(await accessibilityViolations(page)).toEqual([]);
    const without = await open();
    await without.page.getByText("live", { exact: true }).waitFor();
    expect(await without.page.getByRole("link", { name: "Keys" }).count()).toBe(0);
  });

  it("alerts once when a limit is used to the chosen share, as a notification and on the page", async () => {
    const { page, world } = await open({}, { permissions: ["notifications"] });
    await page.getByText("live", { exact: true }).waitFor();
    await page.goto(`${world.url}/#/settings`);
    const alerts = page.getByRole("group", { name: "Alerts" });
    await alerts.getByRole("button", { name: "On" }).click();
    expect(await page.evaluate("Notification.permission")).toBe("granted");
    await picture(page, "settings");
    expect(await accessibilityViolations(page)).toEqual([]);
    // Every notification is a real one; the page's own list says which were given.
    await page.evaluate(
      "window.given = []; window.Notification = class extends Notification { constructor(title, options) { super(title, options); given.push(title); } }",
    );
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("button", { name: "Read again" }).click();
    const alert = page.locator(".alerts p");
    await alert.getByText("Other models, 5 hours: 88 % used").waitFor();
    expect(await page.evaluate("given")).toEqual(["Other models, 5 hours: 88 % used"]);
    await picture(page, "alert");
    await alert.getByRole("button", { name: /^Close/ }).click();
    await page.getByRole("button", { name: "Read again" }).click();
    await page.reload();
    await page.getByRole("meter", { name: "Weekly quota" }).waitFor();
    expect(await alert.count()).toBe(0);
  });

  it("says at the top that the gateway is paused, since when, and what to do", async () => {
    const { page, world } = await open();
    world.pause("2026-01-02T10:20:00.000Z");
    await page.reload();
    const banner = page.getByRole("alert").filter({ hasText: "Millrace is paused." });
    await banner.waitFor();
    expect(await banner.innerText()).toMatch(/No prompt is sent\..*Since .*2.*millrace resume/);
    await picture(page, "paused");
    expect(await accessibilityViolations(page)).toEqual([]);
    world.pause(null);
    await page.reload();
    await page.getByText("live", { exact: true }).waitFor();
    expect(await banner.count()).toBe(0);
  });

  it("says at the top that consent is missing, and gives it with one button", async () => {
    const { page } = await open({ needsConsent: true });
    const banner = page
      .getByRole("alert")
      .filter({ hasText: "You have not agreed yet that prompts go to Devin Desktop." });
    await banner.waitFor();
    expect(await banner.innerText()).toMatch(/They use the plan\..*millrace accept/s);
    await picture(page, "consent");
    expect(await accessibilityViolations(page)).toEqual([]);
    await banner.getByRole("button", { name: "I agree" }).click();
    await banner.waitFor({ state: "detached" });
    await page.reload();
    await page.getByText("live", { exact: true }).waitFor();
    expect(await banner.count()).toBe(0);
  });

  it("says on a failed turn's page what went wrong and what to do", async () => {
    const { page, world } = await open({}, { colorScheme: "dark" });
    world.ask("Hi");
    await page.getByRole("link", { name: "test-model" }).click();
    await page.locator(".timeline li").filter({ hasText: "opened" }).waitFor();
    world.turns.backend.last.emit({ type: "thinking", delta: "Let me see. " });
    world.turns.backend.last.emit({
      type: "failed",
      error: new MillraceError("quota_exhausted", "The weekly quota is used up.", {
        hint: "It resets on Monday.",
      }).toRecord(),
      ideTools: ["VIEW_FILE"],
    });
    world.turns.backend.last.end();
    const why = page.locator(".failure.why");
    await why.waitFor();
    expect(await why.innerText()).toMatch(/The weekly quota is used up\. It resets on Monday\..*quota_exhausted/);
    await page.locator("dl.facts").getByText("view file").waitFor();
    expect(await page.locator(".phase-bar .of-prompt").count()).toBe(1);
    await picture(page, "turn-failed");
    await docPicture(page, "dashboard-turn");
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("asks again only with consent, and shows the new turn", async () => {
    const { page, world } = await open({ pastTurns: 0, dashboardText: true });
    world.ask("What is a millrace?");
    await page.getByRole("link", { name: "test-model" }).click();
    world.turns.backend.last.text("A channel.");
    world.turns.backend.last.finish("A channel.");
    const first = page.url();
    await page.getByRole("button", { name: "Ask again…" }).click();
    const dialog = page.getByRole("dialog", { name: "Ask again?" });
    await picture(page, "ask-again");
    expect(await accessibilityViolations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Do not send" }).click();
    expect(world.turns.backend.answers).toHaveLength(1);
    await page.getByRole("button", { name: "Ask again…" }).click();
    await dialog.getByRole("button", { name: "Send it again" }).click();
    await page.waitForURL((url) => url.hash.startsWith("#/turns/") && url.href !== first);
    await expect.poll(() => world.turns.backend.answers.length).toBe(2);
    expect(world.turns.backend.last.prompt.text).toBe("What is a millrace?");
    await page.locator("dl.facts").getByText("millrace-dashboard").waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: /^Copy a curl command/ }).click();
    const curl = () => page.evaluate("navigator.clipboard.readText()");
    await expect
      .poll(curl)
      .toMatch(/^curl -N -H "Authorization: Bearer \$\(millrace key --value\)" "http:.*\/events"$/);
  });

  it("shows the end of each running turn's text where texts are shown, and of none where they are not", async () => {
    const { page, world } = await open({ dashboardText: true });
    for (const question of ["one", "two"]) {
      world.ask(question);
      await expect.poll(() => world.turns.backend.answers.at(-1)?.prompt.text).toBe(question);
      world.turns.backend.last.emit({ type: "thinking", delta: "Hm. " });
      world.turns.backend.last.text(`The answer to question ${question}.`);
    }
    const rows = page.locator("li[data-turn]");
    await rows.getByText("Hm. The answer to question two.").waitFor();
    await rows.getByText("Hm. The answer to question one.").waitFor();
    expect(await rows.first().locator(".phase").innerText()).toBe("writing");
    await picture(page, "live-text");
    const closed = await open();
    closed.world.ask("three");
    await closed.page.locator("li[data-turn]").getByText("waiting").waitFor();
    closed.world.turns.backend.last.text("secret answer");
    await closed.page.getByText("~4 tokens").waitFor();
    expect(await closed.page.content()).not.toContain("secret");
  });
});
