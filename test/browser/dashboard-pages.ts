import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { patienceMs } from "../support/world.ts";
import { buildDashboard, chromiumPath, type DashboardWorld, dashboardWorld, startChromium } from "./dashboard-world.ts";

const executablePath = chromiumPath();
export const hasChromium = executablePath !== undefined;
/** For the name of a suite: why it is skipped, where it is. */
export const skipReason = hasChromium ? "" : " (skipped: no Chromium; install it or set CHROMIUM to its path)";

/** Where screenshots go when somebody wants to look at them. */
const pictures = process.env["MILLRACE_SCREENSHOTS"];

/** Builds the dashboard and starts Chromium before the tests of a suite. Answers `open`, which each test calls. */
export function dashboardPages() {
  let folder: string;
  let browser: Browser;

  beforeAll(async () => {
    [folder, browser] = await Promise.all([buildDashboard(), startChromium(executablePath ?? "")]);
  });

  afterAll(() => browser.close());

  /** A world, and a page that signed in to it by the link. Any error in its console fails the test. */
  async function open(
    part: Partial<Parameters<typeof dashboardWorld>[0]> = {},
    look: BrowserContextOptions & { readonly mayComplain?: RegExp } = {},
  ): Promise<{ readonly page: Page; readonly world: DashboardWorld }> {
    const world = await dashboardWorld({ folder, plan: "full", pastTurns: 120, ...part });
    const { mayComplain = /^$/, ...looks } = look;
    const context = await browser.newContext({
      viewport: { width: 1200, height: 900 },
      reducedMotion: "reduce",
      ...looks,
    });
    context.setDefaultTimeout(patienceMs);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    onTestFinished(async () => {
      await context.close();
      await world.close();
      expect(complaints.filter((text) => !mayComplain.test(text))).toEqual([]);
    });
    await page.goto(await world.link());
    return { page, world };
  }

  return open;
}

/** The whole page as a picture, if somebody wants to look at it. */
export async function picture(page: Page, name: string): Promise<void> {
  if (pictures === undefined || pictures === "") return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

/** A picture that a page of docs/ shows: what fits the window. */
export async function docPicture(page: Page, name: string): Promise<void> {
  if (pictures === undefined || pictures === "") return;
  mkdirSync(join(pictures, "docs"), { recursive: true });
  await page.screenshot({ path: join(pictures, "docs", `${name}.png`) });
}

export async function hasNoSideScroll(page: Page): Promise<boolean> {
  return page.evaluate<boolean>("document.documentElement.scrollWidth <= document.documentElement.clientWidth");
}
