import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { buildDashboard, chromiumPath, startChromium } from "../test/browser/chromium.ts";
import { dashboardWorld } from "../test/browser/dashboard-world.ts";

/**
 * Frames of the dashboard over 100,000 turns while 50 turns run and write: idle, and while the page is scrolled. Late frames depend on
 * the machine, so it also counts the processor time that the page's own thread takes for a frame: 16.7 ms are there for one. It holds
 * nothing to a limit. Does nothing, and says so, without Chromium.
 */
const [turns, running, roundMs] = [100_000, 50, 6_000];

const executablePath = chromiumPath();
if (executablePath === undefined) console.log("frames: not measured, there is no Chromium");
else await measure(executablePath);

async function measure(path: string): Promise<void> {
  const folder = await buildDashboard();
  const everyMs = (30 * 86_400_000) / turns;
  const world = await dashboardWorld({ folder, plan: "full", pastTurns: turns, everyMs, dashboardText: true });
  const browser = await startChromium(path);
  const stop = new AbortController();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(await world.link());
    await page.locator("table.turns tbody tr").first().waitFor();
    await report(page, "no turn runs");
    for (let index = 0; index < running; index++) world.ask(`question ${index}`);
    await page
      .locator("li[data-turn]")
      .nth(running - 1)
      .waitFor();
    const writing = write(world, stop.signal);
    await report(page, `${running} turns run`);
    await report(page, `${running} turns run, scrolled`, "scrollBy(0, 7)");
    stop.abort();
    await writing;
  } finally {
    stop.abort();
    await browser.close();
    await world.close();
    rmSync(folder, { recursive: true });
  }
}

/** Every turn writes a word ten times a second. */
async function write(world: Awaited<ReturnType<typeof dashboardWorld>>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const answer of world.turns.backend.answers) answer.text("another word ");
    await sleep(100);
  }
}

async function report(page: Page, name: string, eachFrame = ""): Promise<void> {
  const busyMs = await processorTime(page);
  const deltas = (await page.evaluate(
    `new Promise((resolve) => {
      const deltas = [];
      let last;
      const frame = (at) => {
        if (last !== undefined) deltas.push(at - last);
        last = at;
        ${eachFrame};
        if (deltas.reduce((sum, delta) => sum + delta, 0) < ${roundMs}) requestAnimationFrame(frame);
        else resolve(deltas);
      };
      requestAnimationFrame(frame);
    })`,
  )) as number[]; // what the expression answers
  const ownMs = ((await busyMs()) / deltas.length).toFixed(2);
  const sorted = deltas.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
  const late = deltas.filter((delta) => delta > 25).length;
  const perSecond = (deltas.length / (deltas.reduce((sum, delta) => sum + delta, 0) / 1000)).toFixed(1);
  console.log(
    `${name}: ${perSecond} frames a second, median ${at(0.5)} ms, 99 % within ${at(0.99)} ms, ${late} of ${deltas.length} late, ${ownMs} ms of processor time each`,
  );
}

/** From now on; ms of the page's main thread, without the time in which other programs ran. */
async function processorTime(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const read = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0);
  };
  const before = await read();
  return async () => {
    const after = await read();
    await session.detach();
    return after - before;
  };
}
