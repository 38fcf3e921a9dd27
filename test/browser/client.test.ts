import { mkdtempSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { StreamEvent } from "../../src/client/stream/stream-event.ts";
import { temporaryHome } from "../support/home.ts";
import { gateway, model, patienceMs, simulator } from "../support/world.ts";
import { chromiumPath, startChromium } from "./chromium.ts";

const executablePath = chromiumPath();
const reason = executablePath === undefined ? " (skipped: no Chromium; install it or set CHROMIUM to its path)" : "";
const size = 1200;

/** The library as an application bundles it. */
async function buildPage(): Promise<string> {
  const outDir = mkdtempSync(join(tmpdir(), "millrace-client-page-"));
  await build({
    configFile: false,
    logLevel: "error",
    build: {
      outDir,
      target: "es2022",
      lib: { entry: join(import.meta.dirname, "client-page.ts"), formats: ["es"], fileName: "page" },
    },
  });
  return readFileSync(join(outDir, "page.js"), "utf8");
}

/** A site on an origin of its own. */
async function site(script: string): Promise<string> {
  const server = createServer(({ url }, response) => {
    const isScript = url === "/page.js";
    response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" });
    response.end(
      isScript
        ? script
        : '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>',
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
}

const kept = (page: Page) => page.evaluate("kept()") as Promise<StreamEvent[]>;
const textOf = (events: readonly StreamEvent[]) =>
  events.map((event) => (event.type === "text" ? event.delta : "")).join("");

describe.skipIf(executablePath === undefined)(`the reliable client in Chromium${reason}`, () => {
  let script: string;
  let browser: Browser;

  beforeAll(async () => {
    [script, browser] = await Promise.all([buildPage(), startChromium(executablePath ?? "")]);
  });

  afterAll(() => browser.close());

  it("continues an answer after a reload and after the gateway was killed, in one tab at a time", async () => {
    const origin = await site(script);
    const home = temporaryHome();
    const ide = await simulator({ home });
    const args = ["--continuity", "off", "--allow-origin", origin];
    const first = await gateway({ home, args });
    const [url, key] = [JSON.stringify(first.url), JSON.stringify(first.key)];
    const context = await browser.newContext();
    context.setDefaultTimeout(patienceMs);
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(origin);
    const question = JSON.stringify(`[[sim: size=${size} rate=150 hold-after=600 thinking=0]] at length`);
    await page.evaluate(`ask(${url}, ${key}, ${JSON.stringify(model)}, ${question})`);
    await page.waitForFunction('kept().map(({ delta = "" }) => delta).join("").length > 100');

    // A second tab is told that the first one has it, and looks on.
    const other = await context.newPage();
    await other.goto(origin);
    expect(await other.evaluate(`goOn(${url}, ${key})`)).toEqual({ streams: 0, taken: 1 });
    await other.evaluate(`lookOn(${url}, ${key})`);

    // A reload in the middle: the same tab has it again at once.
    await page.reload();
    const before = (await kept(page)).length;
    expect(textOf(await kept(page)).length).toBeLessThan(size);
    expect(await page.evaluate(`goOn(${url}, ${key})`)).toEqual({ streams: 1, taken: 0 });
    await ide.release();
    await page.waitForFunction(`kept().length > ${before}`);

    // The gateway is killed and comes back.
    await first.kill();
    await gateway({ home, args: [...args, "--port", new URL(first.url).port] });
    await page.waitForFunction('kept().at(-1).type === "end" || globalThis.failure !== undefined');
    expect(await page.evaluate("globalThis.failure")).toBeUndefined();
    const events = await kept(page);
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: "finished" });
    expect(textOf(events)).toHaveLength(size);
    expect(new Set(events.map(({ eventId }) => eventId)).size).toBe(events.length);
    expect((await ide.report()).messages).toHaveLength(1);
    await other.waitForFunction('seen.at(-1)?.type === "end" || globalThis.failure !== undefined');
    expect(await other.evaluate("globalThis.failure")).toBeUndefined();
    expect(await other.evaluate("seen")).toEqual(events);
    expect(await other.evaluate(`goOn(${url}, ${key})`)).toEqual({ streams: 0, taken: 0 });
  });

  it("ends by name on a page whose origin the gateway does not allow, and sends no prompt", async () => {
    const home = temporaryHome();
    const ide = await simulator({ home });
    const served = await gateway({ home });
    const page = await browser.newPage();
    page.setDefaultTimeout(patienceMs);
    onTestFinished(() => page.close());
    const origin = await site(script);
    await page.goto(origin);
    await page.evaluate(
      `ask(${[served.url, served.key, model, "?"].map((text) => JSON.stringify(text)).join()}, 2000)`,
    );
    await page.waitForFunction("globalThis.failure !== undefined");
    const told = await page.evaluate("globalThis.failure");
    expect(told).toContain("No gateway answered within 2 s");
    expect(told).toContain(`millrace serve --allow-origin ${origin}`);
    expect((await ide.report()).messages).toEqual([]);
  });
});
