import { rmSync } from "node:fs";
import { MillraceError } from "../src/base/errors.ts";
import { buildDashboard, chromiumPath, dashboardWorld, startChromium } from "../test/browser/dashboard-world.ts";

/**
 * The dashboard over a history of 200,000 turns in 30 days: first paint, and the moment the spending of a week stands
 * there. Exits 1 when the first paint takes longer than it may; does nothing, and says so, without Chromium.
 */
const turns = 200_000;
const mayTakeMs = 300;

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
  const browser = await startChromium(path);
  try {
    const paints: number[] = [];
    for (let round = 0; round < 5; round++) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(await world.link());
      await page.getByRole("rowheader", { name: "claude-opus-4.5:high" }).first().waitFor();
      const shownMs = await page.evaluate("performance.now()");
      const paintMs = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime");
      if (typeof paintMs !== "number") throw new MillraceError("internal", "Chromium told no first paint.");
      paints.push(paintMs);
      console.log(
        `round ${round + 1}: first paint ${paintMs.toFixed(0)} ms, spending shown ${Number(shownMs).toFixed(0)} ms`,
      );
      await context.close();
    }
    const median = paints.toSorted((a, b) => a - b)[2] ?? Infinity;
    console.log(`first paint over ${turns} turns: ${median.toFixed(0)} ms (may take ${mayTakeMs} ms)`);
    if (median > mayTakeMs) process.exitCode = 1;
  } finally {
    await browser.close();
    await world.close();
    rmSync(folder, { recursive: true });
  }
}
