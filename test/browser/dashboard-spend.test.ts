import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { MillraceError } from "../../src/base/errors.ts";
import { accessibilityViolations } from "./chromium.ts";
import { describeDashboard, picture } from "./dashboard-page.ts";

describeDashboard("the dashboard's plan and spending", (open) => {
  it("shows limits with the even-pace tick and the verdict, said to screen readers too", async () => {
    const { page } = await open();
    const weekly = page.getByRole("meter", { name: "Weekly quota" });
    await weekly.waitFor();
    expect(await weekly.getAttribute("aria-valuenow")).toBe("61");
    expect(await weekly.getAttribute("aria-valuetext")).toMatch(/61 % used, resets in 4 d 16 h, lasts until \w+/);
    expect(await weekly.locator(".tick").getAttribute("style")).toMatch(/left: 33\.\d+%/);
    await page.getByText("12 % in reserve").waitFor();
    await page.getByText("$12.50 left").waitFor();
    const antigravity = page.getByRole("article", { name: "Limits of Antigravity" });
    await antigravity.getByRole("meter", { name: "Other models, 5 hours" }).waitFor();
    await antigravity.getByText("By model (3)").click();
    await antigravity.getByRole("meter", { name: "Claude Opus 4.5" }).waitFor();
    expect(await page.content()).not.toContain("ada@example.com");
    await picture(page, "limits");
  });

  it("labels the limits of a stand-in", async () => {
    const { page } = await open({ standIn: true });
    await page
      .getByRole("article", { name: /^Limits of Devin Desktop/ })
      .getByText("stand-in", { exact: true })
      .waitFor();
    expect(await page.locator("section[aria-labelledby=limits]").getByText("stand-in", { exact: true }).count()).toBe(
      1,
    );
  });

  it("shows who spent it, by any dimension and time, with estimates marked", async () => {
    const { page } = await open();
    const table = page.locator("section[aria-labelledby=spend] table");
    await table.getByRole("rowheader", { name: "claude-opus-4.5:high" }).waitFor();
    await page.locator("section[aria-labelledby=spend]").getByText("~ marks partly estimated values").waitFor();
    expect(await page.locator(".tiles div", { hasText: "Tokens" }).locator("dd.value").innerText()).toMatch(
      /^~\S+, ~\S+$/,
    );
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
    expect(await page.getByText("No turns yet").count()).toBe(0);
  });

  it("draws the whole period that was asked for, says each value by keyboard, and agrees with the cards", async () => {
    const { page } = await open();
    await page.getByRole("group", { name: "Measure" }).getByRole("button", { name: "Plan" }).click();
    const chart = page.getByRole("slider", { name: "Time on the chart" });
    // The last reading of the history says 60 %; what was read just now, and the card, say 61.
    await expect.poll(() => chart.getAttribute("aria-valuetext")).toContain("Weekly quota 61 % used");
    expect(await page.locator(".legend li").allInnerTexts()).toContain("Devin Desktop, Daily quota 38 % used");
    await chart.press("Home");
    const first = (await chart.getAttribute("aria-valuetext")) ?? "";
    expect(first).toContain("Weekly quota 0 % used");
    expect(await page.locator("section[aria-labelledby=use] .at-time").innerText()).toBe(first.split(": ")[0]);
    await chart.press("ArrowRight");
    expect(await chart.getAttribute("aria-valuetext")).toContain("Weekly quota 1 % used");
    // not "Today": after midnight there is too little to draw
    await page.getByRole("group", { name: "Time" }).getByRole("button", { name: "30 d" }).click();
    await expect.poll(() => page.locator("section[aria-labelledby=use] .at-time").innerText()).toBe("Now");
    await picture(page, "chart-month");
  });

  it("says in place of a chart that nothing was used", async () => {
    const { page } = await open({ unused: true });
    const history = page.locator("section[aria-labelledby=use]");
    await page.getByRole("group", { name: "Measure" }).getByRole("button", { name: "Plan" }).click();
    await history.getByText("Nothing of the plan was used in this time.").waitFor();
    expect(await history.getByRole("slider").count()).toBe(0);
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
    await page.getByText("No turn of this time matches.").waitFor();
  });

  it("sums up the time in tiles", async () => {
    const { page, world } = await open({ pastTurns: 0 });
    await page.getByText("No turns yet").waitFor();
    world.ask("Hi");
    await page.locator("[data-turn]").getByText("waiting").waitFor();
    world.turns.backend.last.text("Hello");
    world.turns.backend.last.finish("Hello");
    const tile = (name: string) => page.locator(".tiles div", { hasText: name }).locator("dd.value");
    await expect.poll(() => tile("Turns").innerText()).toBe("1");
    expect(await tile("Failed").innerText()).toBe("0 %");
    expect(await tile("First token").innerText()).toMatch(/^[\d.]+ m?s$/);
  });

  it("says on top what failed last and why, in red only where it is no mistake of the request", async () => {
    const { page, world } = await open({ pastTurns: 0 });
    const fail = async (error: MillraceError) => {
      const before = world.turns.backend.answers.length;
      world.ask(error.message);
      await expect.poll(() => world.turns.backend.answers.length).toBe(before + 1);
      world.turns.backend.last.emit({ type: "failed", error: error.toRecord() });
      world.turns.backend.last.end();
    };
    const last = page.locator(".notice", { hasText: "Last failure" });
    const tile = page.locator(".tiles div", { hasText: "Failed" });
    await fail(new MillraceError("context_too_long", "The prompt is too long."));
    await last.getByText("context too long").waitFor();
    expect(await tile.getAttribute("class")).toBe("card tile");
    expect(await page.locator("table.turns tbody tr").getAttribute("class")).toBe("mistaken");
    await fail(new MillraceError("quota_exhausted", "The quota is used up."));
    await last.getByText("quota exhausted").waitFor();
    await last.locator("summary").click();
    expect(await last.innerText()).toMatch(/^Last failure \d\d:\d\d:\d\d: quota exhausted\s+test-model from opencode/);
    await expect.poll(() => tile.getAttribute("class")).toBe("card tile bad");
    await picture(page, "last-failure");
    expect(await accessibilityViolations(page)).toEqual([]);
    await last.getByRole("link").click();
    await page.locator(".failure.why").getByText("The quota is used up.").waitFor();
  });

  it("draws what each model spent on each day, and says a day's figures by keyboard", async () => {
    const { page } = await open();
    const time = page.getByRole("group", { name: "Time" });
    await time.getByRole("button", { name: "30 d" }).click();
    const chart = page.getByRole("slider", { name: "Time on the chart" });
    await chart.waitFor();
    await expect.poll(() => page.locator(".column").count()).toBe(30);
    const days = page.locator("section[aria-labelledby=use]");
    expect(await days.locator(".at-time").innerText()).toBe("30 days: 120 credits");
    expect(await days.locator(".legend li").allInnerTexts()).toEqual(["claude-opus-4.5:high 80", "swe-1.5 40"]);
    expect(await page.locator(".tile .spark polyline").count()).toBe(5);
    await chart.press("Home");
    expect(await chart.getAttribute("aria-valuetext")).toMatch(/: 0 credits; claude-opus-4.5:high 0, swe-1.5 0$/);
    await chart.press("End");
    const said = (await chart.getAttribute("aria-valuetext")) ?? "";
    expect(await days.locator(".at-time").innerText()).toBe(said.split(";")[0]);
    await days.getByRole("button", { name: "Tokens" }).click();
    await expect.poll(() => days.locator(".at-time").innerText()).toMatch(/^30 days: ~[\d,]+ tokens$/);
    await time.getByRole("button", { name: "7 d" }).click();
    await expect.poll(() => page.locator(".column").count()).toBe(7);
  });

  it("keeps filters, search, order and time in the address: after a turn's page and a reload", async () => {
    const { page, world } = await open({ pastTurns: 300, everyMs: 60_000 }, { mayComplain: /404/ });
    const rows = page.locator("table.turns tbody tr");
    await rows.first().waitFor();
    await page.getByRole("group", { name: "Time" }).getByRole("button", { name: "30 d" }).click();
    await page.getByLabel("Status").selectOption("failed");
    await page.getByLabel("Search turns").fill("past_11");
    await page.getByRole("button", { name: "Tokens in" }).click();
    await expect.poll(() => rows.count()).toBe(2);
    const address = `${world.url}/#/?since=30d&status=failed&search=past_11&sort=tokens_in`;
    expect(page.url()).toBe(address);
    const asked = async () => [
      await page.getByLabel("Status").inputValue(),
      await page.getByLabel("Search turns").inputValue(),
      await page.locator("table.turns th[aria-sort=descending]").innerText(),
      await page.getByRole("group", { name: "Time" }).locator("[aria-pressed=true]").innerText(),
    ];
    const before = ["failed", "past_11", expect.stringContaining("Tokens in"), "30 d"];
    expect(await asked()).toEqual(before);
    await rows.first().getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: /claude|swe/ }).waitFor();
    await page.goBack();
    await expect.poll(() => rows.count()).toBe(2);
    expect(await asked()).toEqual(before);
    await page.reload();
    await expect.poll(() => rows.count()).toBe(2);
    expect(await asked()).toEqual(before);
    await page.goto(`${world.url}/#/nowhere`);
    await page.getByRole("heading", { level: 1, name: "There is no such page" }).waitFor();
  });

  it("shows the turns behind a number: of a tile, a row, its failures, and a day", async () => {
    const { page, world } = await open({ pastTurns: 300, everyMs: 60_000 });
    const rows = page.locator("table.turns tbody tr");
    const shown = page.getByRole("navigation", { name: "Pages of turns" }).getByRole("status");
    await page.locator(".tiles div", { hasText: "Failed" }).getByRole("link").click();
    await expect.poll(() => shown.innerText()).toBe("1–25 of 28");
    expect(page.url()).toBe(`${world.url}/#/?status=failed`);
    const spend = page.locator("section[aria-labelledby=spend] table");
    await spend.getByRole("link", { name: "swe-1.5" }).click();
    await expect.poll(() => shown.innerText()).toBe("1–25 of 100");
    expect(await page.getByLabel("Model", { exact: true }).inputValue()).toBe("swe-1p5");
    await spend
      .getByRole("row", { name: /swe-1.5/ })
      .getByRole("link", { name: /failed/ })
      .click();
    await expect.poll(() => rows.count()).toBe(10);
    await page.getByRole("group", { name: "Group by" }).getByRole("button", { name: "Project" }).click();
    await spend.getByRole("link", { name: "engine" }).click();
    await expect.poll(() => page.getByLabel("Search turns").inputValue()).toBe("/home/ada/work/engine");
    const chart = page.getByRole("slider", { name: "Time on the chart" });
    await chart.press("End");
    await chart.press("Enter");
    const whole = page.getByRole("button", { name: "Whole time" });
    await whole.waitFor();
    expect(page.url()).toMatch(/by=project&from=.*&to=/);
    await whole.click();
    await page.getByLabel("Search turns").fill("");
    await expect.poll(() => shown.innerText()).toBe("1–25 of 300");
    await page.getByLabel("First day").fill(new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 10));
    await expect.poll(() => page.url()).toMatch(/by=project&from=.*&to=/);
    await expect.poll(() => page.locator(".column").count()).toBe(41);
  });

  it("says in the title what is left and how much runs, on every page", async () => {
    const { page, world } = await open();
    await expect.poll(() => page.title()).toBe("39 % left · Millrace");
    expect(await page.locator("link[rel=icon]").getAttribute("href")).toBe("/icon.svg");
    world.ask("Hi");
    await expect.poll(() => page.title()).toBe("39 % left · 1 running · Millrace");
    await page.goto(`${world.url}/#/models`);
    await expect.poll(() => page.title()).toBe("39 % left · 1 running · Models · Millrace");
    world.turns.backend.last.finish("Hello");
    await expect.poll(() => page.title()).toBe("39 % left · Models · Millrace");
  });

  it("goes still in title, header and rows once the IDE is gone, and then the gateway", async () => {
    const { page, world } = await open({}, { mayComplain: /ERR_|network/i });
    world.ask("Hi");
    const row = page.locator("[data-turn]");
    await row.getByText("waiting").waitFor();
    world.turns.backend.last.text("Hello");
    await row.getByText("writing").waitFor();
    world.loseIdes();
    await row.getByText("no IDE").waitFor();
    await expect.poll(() => page.title()).toBe("39 % left · no IDE · Millrace");
    const standing = await row.innerText();
    await page.waitForFunction((since) => Date.now() > since + 2000, Date.now());
    expect(await row.innerText()).toBe(standing);
    world.findIdes();
    await row.getByText("writing").waitFor();
    await world.stop();
    await row.getByText("no gateway").waitFor();
    await expect.poll(() => page.title()).toBe("no gateway · Millrace");
  });

  it("does not say in red that no IDE can be used while an agent is asked", async () => {
    const { page } = await open({ plan: "none", usesAgent: true });
    await page.getByRole("button", { name: /ready/ }).waitFor();
    expect(await page.getByText("No IDE can be used.").count()).toBe(0);
  });

  it("alerts once when a limit is used to 80 %, as a notification and on the page", async () => {
    const { page } = await open({}, { permissions: ["notifications"] });
    await page.getByText("live", { exact: true }).waitFor();
    // Every notification is a real one; the page's own list says which were given. Without windows, Chromium says "denied" though it grants them.
    await page.evaluate(
      "window.given = []; window.Notification = class extends Notification { static permission = 'granted'; constructor(title, options) { super(title, options); given.push(title); } }",
    );
    const atHand = page.getByRole("button", { name: "Alert at 80 %" });
    await atHand.click();
    expect(await atHand.getAttribute("aria-pressed")).toBe("true");
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
});
