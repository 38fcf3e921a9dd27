import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished } from "vitest";
import { patienceMs } from "../support/world.ts";
import { chromiumPath, showTexts, startChromium } from "./chromium.ts";
import { type DashboardWorld, dashboardWorld } from "./dashboard-world.ts";

const executablePath = chromiumPath();
const reason = executablePath === undefined ? " (skipped: no Chromium; install it or set CHROMIUM to its path)" : "";
/** Where screenshots go when somebody wants to look at them. */
const pictures = process.env["MILLRACE_SCREENSHOTS"];

/** Opens a world, and a page that signed in to it by the link and, with `texts`, shows prompts and answers. Any error in the page's console fails the test. */
type Open = (
  part?: Partial<Parameters<typeof dashboardWorld>[0]>,
  look?: BrowserContextOptions & { readonly mayComplain?: RegExp; readonly texts?: boolean },
) => Promise<{ readonly page: Page; readonly world: DashboardWorld }>;

/** Describes the dashboard in one Chromium, which closes after the last test; skipped without Chromium. */
export function describeDashboard(subject: string, body: (open: Open) => void): void {
  describe.skipIf(executablePath === undefined)(`${subject} in Chromium${reason}`, () => {
    let browser: Browser;

    beforeAll(async () => {
      browser = await startChromium(executablePath ?? "");
    });

    afterAll(() => browser.close());

    body(async (part = {}, look = {}) => {
      const world = await dashboardWorld({ folder: inject("dashboard"), plan: "full", pastTurns: 120, ...part });

      const { mayComplain = /^$/, texts = false, ...looks } = look;
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
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      if (texts) await showTexts(page);
      return { page, world };
    });
  });
}

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

export const hasNoSideScroll = (page: Page) =>
  page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth");
