import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { MillraceError } from "../../src/base/errors.ts";
import { redirectTo } from "../../src/cli/commands/dashboard.ts";
import { rowsOf } from "../support/tables.ts";
import { listening, temporaryFolder } from "../support/temporary.ts";
import { patienceMs } from "../support/world.ts";
import { accessibilityViolations } from "./chromium.ts";
import { describeDashboard, docPicture, hasNoSideScroll, picture } from "./dashboard-page.ts";

describeDashboard("the dashboard", (open) => {
  it("opens by a one-time link that leaves no secret in the address, and closes by signing out", async () => {
    const { page, world } = await open();
    expect(page.url()).toBe(`${world.url}/`);
    await page.getByRole("article", { name: "Limits of Devin Desktop", exact: true }).waitFor();
    await page.reload();
    await page.getByRole("article", { name: "Limits of Devin Desktop", exact: true }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("millrace dashboard").waitFor();
  });

  it("opens by a file that leads to the link, as `millrace dashboard` makes it", async () => {
    const { page, world } = await open();
    const file = join(temporaryFolder(), "dashboard.html");
    writeFileSync(file, redirectTo(await world.link()), { mode: 0o600 });
    const tab = await page.context().newPage();
    await tab.goto(pathToFileURL(file).href);
    await tab.getByText("live", { exact: true }).waitFor();
    expect(tab.url()).toBe(`${world.url}/`);
  });

  it("gives its session to no other port of this host, and all tabs of this browser have it", async () => {
    const { page, world } = await open({}, { mayComplain: /404/ });
    await page.getByText("live", { exact: true }).waitFor();
    const session = String(await page.evaluate("localStorage.getItem('millrace-session')"));
    expect(session).toMatch(/^[\w-]{43}$/);
    const received: string[] = [];
    const other = createServer((request, response) => {
      received.push(JSON.stringify([request.url, request.headers]));
      response.setHeader("content-type", "text/html").end("<title>another program</title>");
    });
    await page.goto(`http://127.0.0.1:${await listening(other)}/`);
    expect(await page.evaluate("[sessionStorage.length, localStorage.length, document.cookie]")).toEqual([0, 0, ""]);
    expect(received.length).toBeGreaterThan(0);
    expect(received.join()).not.toContain(session);
    await page.goto(world.url);
    await page.getByText("live", { exact: true }).waitFor();
    const tab = await page.context().newPage();
    await tab.goto(`${world.url}/#/models`);
    await tab.getByRole("heading", { level: 1, name: "Models" }).waitFor();
    await tab.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("millrace dashboard").waitFor(); // it ended everywhere
    await tab.goto(await world.link());
    await page.getByText("live", { exact: true }).waitFor();
  });

  it("says that a link was used, and leaves nothing of it in the address", async () => {
    const { page, world } = await open({}, { mayComplain: /403/ });
    const link = await world.link();
    await page.goto(link);
    await page.getByText("live", { exact: true }).waitFor();
    for (const stale of [link, `${world.url}/#/sign-in/made-up`]) {
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

  it.each(["light", "dark"] as const)("is readable in %s, without serious findings of axe", async (colorScheme) => {
    const { page, world } = await open({}, { colorScheme });
    world.ask("Hi");
    await page.getByRole("button", { name: "Cancel test-model" }).waitFor();
    await page.locator(".column").first().waitFor();
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
    await page.locator(".column").first().waitFor();
    await page.locator("#spend").waitFor();
    await page.getByRole("rowheader", { name: "claude-opus-4.5:high" }).first().waitFor();
    await picture(page, `phone-${width}`);
    expect(await hasNoSideScroll(page)).toBe(true);
  });

  it("finds each command by Ctrl-K, and goes through the lists by j and k", async () => {
    const { page, world } = await open();
    await page.getByRole("rowheader", { name: "claude-opus-4.5:high" }).first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    expect(await page.evaluate("document.activeElement.closest('[data-row]').rowIndex")).toBe(1);
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox", { name: "Command" });
    await field.fill("spent by proj");
    expect(await accessibilityViolations(page)).toEqual([]);
    await picture(page, "palette");
    await field.press("Enter");
    await page.getByRole("heading", { name: "Spent by project" }).waitFor();
    await page.keyboard.press("Control+k");
    await field.fill("past_11");
    await field.press("ArrowUp");
    await field.press("Enter");
    await expect.poll(() => page.url()).toBe(`${world.url}/#/?search=past_11`);
  });

  it("prints the week on one page: the plan, and who spent it by project and client", async () => {
    const { page } = await open();
    await page.getByRole("rowheader", { name: "claude-opus-4.5:high" }).first().waitFor();
    await page.locator(".sheet tr[data-row]").nth(5).waitFor({ state: "attached" });
    const pdf = (await page.pdf({ format: "A4" })).toString("latin1");
    expect(pdf.match(/\/Type\s*\/Page[^s]/g)).toHaveLength(1);
    await page.emulateMedia({ media: "print" });
    await page.getByRole("heading", { name: "Spent in seven days, by project" }).waitFor();
    await page.getByRole("heading", { name: "Spent in seven days, by client" }).waitFor();
    await page.getByRole("meter", { name: "Weekly quota" }).waitFor();
    expect(await page.getByRole("heading", { name: "Latest turns" }).isVisible()).toBe(false);
    await docPicture(page, "dashboard-print");
  });

  it.each(rowsOf([390, 760, 1280]))("no long word makes the page wider than its window of %i px", async (width) => {
    const long = "a-word-without-an-end".repeat(200);
    const { page, world } = await open({ longWords: long, pastTurns: 40 }, { viewport: { width, height: 800 } });
    world.ask("Hi", `/home/ada/${long}`, { "user-agent": `${long}/1` });
    await page.locator("[data-turn]").waitFor();
    world.turns.backend.last.text("Hello");
    await page.locator("[data-turn]").getByText("writing").waitFor();
    for (const at of ["#/?by=project", "#/models", "#/keys"]) {
      await page.goto(`${world.url}/${at}`);
      await page.locator("main .card, main .heading").first().waitFor();
      if (at.includes("by=")) await page.locator("section[aria-labelledby=spend]").getByText("Show all 40").waitFor();
      expect({ at, fits: await hasNoSideScroll(page) }).toEqual({ at, fits: true });
    }
    await page.goto(world.url);
    const error = new MillraceError("upstream_failed", long, { hint: long }).toRecord();
    world.turns.backend.last.emit({ type: "failed", error });
    world.turns.backend.last.end();
    await page.locator("table.turns tr.failed", { hasText: "upstream failed" }).getByRole("link").click();
    await page.locator(".failure.why").waitFor();
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
    await page.evaluate("localStorage.clear()");
    await page.getByRole("button", { name: "Read again" }).click();
    await page.getByRole("heading", { level: 1, name: "Millrace" }).waitFor();
    await picture(page, "sign-in");
    await page.goto(`${world.url}/#/models`);
    await page.getByRole("heading", { level: 1, name: "Millrace" }).waitFor();
    await page.goto(await world.link());
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor(); // the page that was asked for
    expect(page.url()).toBe(`${world.url}/#/models`);
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("meter", { name: "Weekly quota" }).waitFor();
  });
});
