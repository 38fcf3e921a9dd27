import { expect, it } from "vitest";
import { accessibilityViolations } from "./chromium.ts";
import { describeDashboard, hasNoSideScroll, picture } from "./dashboard-page.ts";

describeDashboard("the dashboard's panels", (open) => {
  it("a panel that cannot be read says so with a way to try again, and shows no figures of another time", async () => {
    const { page } = await open({}, { mayComplain: /500/ });
    const days = page.locator("section[aria-labelledby=use]");
    await days.getByText("7 days:").waitFor();
    await page.route("**/dashboard/api/usage/days*", (route) =>
      route.fulfill({ status: 500, json: { error: { message: "The history is broken.", hint: "Mend it." } } }),
    );
    await page.getByRole("group", { name: "Time" }).getByRole("button", { name: "30 d" }).click();
    await days.getByText("The history is broken.").waitFor();
    expect(await days.getByText("7 days:").count()).toBe(0);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.unrouteAll();
    await days.getByRole("button", { name: "Try again" }).click();
    await expect.poll(() => days.locator(".column").count()).toBe(30); // the pointer is over one: its day is named
    await page.route("**/v1/limits*", (route) =>
      route.fulfill({ status: 500, json: { error: { message: "No plan now.", hint: "Later." } } }),
    );
    const limits = page.locator("section[aria-labelledby=limits]");
    await limits.getByRole("button", { name: "Read again" }).click();
    await limits.getByText(/^stale since \d\d:\d\d:\d\d$/).waitFor();
    await limits.getByRole("meter", { name: "Weekly quota" }).waitFor(); // what was read before stays, marked
    await page.unrouteAll();
    await limits.getByRole("button", { name: "Try again" }).click();
    await limits.getByText("stale since").waitFor({ state: "hidden" });
  });

  it("a turn's live stream that broke is followed again", async () => {
    const { page, world } = await open({}, { mayComplain: /ERR_/ });
    world.ask("Hi");
    await page.getByRole("link", { name: "test-model" }).click();
    await page.getByRole("heading", { level: 2, name: "Time line" }).waitFor();
    await page.route("**/timeline", (route) => route.abort());
    await world.restart();
    await page.getByText("The connection broke. The page tries again by itself.").waitFor();
    await page.unrouteAll();
    world.turns.backend.last.text("Still here");
    const told = page.locator(".timeline li", { hasText: "10 characters" });
    await told.waitFor();
    expect(await told.count()).toBe(1);
  });

  it.each([
    ["light", 1440],
    ["dark", 390],
  ] as const)(
    "today is hours, and the chart narrows the page by keyboard and by a drag, in %s at %i px",
    async (colorScheme, width) => {
      const look = { colorScheme, viewport: { width, height: 900 } };
      const { page } = await open({ pastTurns: 300, everyMs: 60_000 }, look);
      const pages = page.getByRole("navigation", { name: "Pages of turns" });
      await pages.getByText("1–25 of 300").waitFor();
      const time = page.getByRole("slider", { name: "Time on the chart" });
      await time.press("End");
      await time.press("Shift+ArrowLeft");
      expect(await time.getAttribute("aria-valuetext")).toMatch(/ – .*: \d+ credits/);
      await time.press("Enter");
      await page.getByRole("button", { name: "Whole time" }).click();
      await pages.getByText("1–25 of 300").waitFor();
      const bars = page.locator(".column");
      await bars.nth(5).hover();
      await page.mouse.down();
      await bars.nth(6).hover();
      await page.mouse.up();
      await expect.poll(() => page.url()).toMatch(/#\/\?from=.*&to=/); // both ends
      await page.getByRole("button", { name: "Whole time" }).waitFor();
      await page.getByRole("group", { name: "Time" }).getByRole("button", { name: "Today" }).click();
      await expect.poll(() => page.locator(".column").count()).toBe(24); // tests run in UTC
      await picture(page, `hours-${colorScheme}`);
      expect(await hasNoSideScroll(page)).toBe(true);
      expect(await accessibilityViolations(page)).toEqual([]);
    },
  );

  it("models sort by what they cost, and free ones stand alone", async () => {
    const { page, world } = await open();
    await page.goto(`${world.url}/#/models`);
    const rows = page.locator("table.models tbody");
    await expect.poll(() => rows.count()).toBe(4);
    await page.getByRole("button", { name: "Cost" }).click();
    await expect.poll(() => rows.first().innerText()).toContain("swe-1.5");
    await page.getByRole("button", { name: "Cost" }).click();
    await expect.poll(() => rows.first().innerText()).toContain("claude-opus-4.5");
    await page.getByRole("button", { name: "Free" }).click();
    await expect.poll(() => rows.count()).toBe(1);
    expect(await accessibilityViolations(page)).toEqual([]);
  });
});
