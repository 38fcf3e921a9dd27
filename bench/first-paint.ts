import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { buildDashboard, chromiumPath, startChromium } from "../test/browser/chromium.ts";
import { dashboardWorld } from "../test/browser/dashboard-world.ts";

/**
 * The dashboard over a history of 200,000 turns in 30 days: first paint, and the moment the spending of a week stands
 * there. Beside it an empty page of the same gateway, because a busy machine slows both. Each page opens in a fresh browser context, and
 * the order changes each round, so that neither profits from the other. Exits 1 when the first paint takes longer than it may and longer
 * than half as much again as that of the empty page; does nothing, and says so, without Chromium.
 */
const turns = 200_000;
const mayTakeMs = 300;
const rounds = 6;

const executablePath = chromiumPath();
if (executablePath === undefined) console.log("first paint: not measured, there is no Chromium");
else await measure(executablePath);

async function measure(path: string): Promise<void> {
  const folder = await buildDashboard();
  const world = await dashboardWorld({
    folder,
    plan: "full",
    pastTurns: turns,
    everyMs: (30 * 86_400_000) / turns,
  });
  const emptyFolder = mkdtempSync(join(tmpdir(), "millrace-empty-page-"));
  writeFileSync(join(emptyFolder, "index.html"), "<!doctype html><title>Empty</title><p>Millrace</p>");
  const empty = await dashboardWorld({ folder: emptyFolder, plan: "none", pastTurns: 0 });
  const browser = await startChromium(path);
  const own: number[] = [];
  const ofEmpty: number[] = [];
  const openOwn = async (page: Page) => {
    await page.goto(await world.link());
    await page.getByRole("rowheader", { name: "claude-opus-4.5:high" }).first().waitFor();
    const shownMs = Number(await page.evaluate("performance.now()"));
    const paintMs = await firstPaint(page);
    own.push(paintMs);
    console.log(`first paint ${paintMs.toFixed(0)} ms, spending shown ${shownMs.toFixed(0)} ms`);
  };
  const openEmpty = async (page: Page) => {
    await page.goto(await empty.link());
    ofEmpty.push(await firstPaint(page));
  };
  try {
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 === 0 ? [openOwn, openEmpty] : [openEmpty, openOwn];
      for (const open of order) await inFreshContext(browser, open);
    }
    const [ownMs, emptyMs] = [medianOf(own), medianOf(ofEmpty)];
    console.log(
      `first paint over ${turns} turns: ${ownMs.toFixed(0)} ms (may take ${mayTakeMs} ms), an empty page: ${emptyMs.toFixed(0)} ms`,
    );
    if (ownMs > Math.max(mayTakeMs, 1.5 * emptyMs)) process.exitCode = 1;
  } finally {
    await browser.close();
    await world.close();
    await empty.close();
    rmSync(folder, { recursive: true });
    rmSync(emptyFolder, { recursive: true });
  }
}

async function inFreshContext(browser: Browser, open: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext();
  await open(await context.newPage());
  await context.close();
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

/** When the page first showed something, ms after its address was opened. */
async function firstPaint(page: Page): Promise<number> {
  const paint = await page.evaluate(
    `new Promise((resolve) => new PerformanceObserver((list) => {
      for (const { name, startTime } of list.getEntries()) if (name === "first-contentful-paint") resolve(startTime);
    }).observe({ type: "paint", buffered: true }))`,
  );
  return Number(paint);
}
