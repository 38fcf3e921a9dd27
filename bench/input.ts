import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { startSimulator } from "../simulator/index.ts";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { pinnedTo } from "../test/support/pinned.ts";
import type { Block } from "./load/count-blocks.ts";
import { costOf } from "./load/process-cost.ts";

/**
 * What one client's input costs the others: long lines in an answer while tools are offered, a slow schema, and the largest bodies, at a
 * real gateway. `/health` is asked every 10 ms meanwhile. A block is processor time that the gateway spends without a look at anything else.
 */
const kilobyte = 1024;
const megabyte = 1024 * kilobyte;
const lines: Readonly<Record<string, string>> = {
  "plain words": "some words that say nothing, ",
  "minified JavaScript": 'function a(b,c){return b<c&&d[e]>"f"?g(`h`):{i:[j,k]}};',
  JSON: '{"name":"bash","of":[1,{"a":"b<c>"}],"arguments":"x"},',
  HTML: '<div class="a"><p>b</p><tool><code>c</code></tool></div>',
  backticks: "`",
  "`<` repeated": "<",
  "`[` repeated": "[",
  "`{` repeated": "{",
};
const tool = (parameters: object) => ({ type: "function", function: { name: "bash", parameters } });
const anything = tool({ type: "object", properties: { command: { type: "string" } } });
const slow = tool({ type: "object", properties: { command: { type: "string", pattern: "^(a+)+$" } } });

let said = "";
const player = createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let at = 0; at < said.length; at += 4_000)
    response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: said.slice(at, at + 4_000) } }] })}\n\n`);
  response.end("data: [DONE]\n\n");
}).listen(0, "127.0.0.1");
await once(player, "listening");
const modelUrl = `http://127.0.0.1:${(player.address() as AddressInfo).port}/v1`; // it listens on a port
await using simulator = await startSimulator({ plan: { unlimited: true }, modelUrl, turn: { firstMs: 0, inputMs: 0 } });
const file = join(simulator.home, "blocks.json");
const gateway = await startGatewayProcess({
  home: simulator.home,
  args: pinnedTo(simulator),
  env: {
    MILLRACE_BLOCKS: file,
    NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, "load/count-blocks.ts")).href}`,
  },
});

interface Row {
  readonly what: string;
  readonly fromMicros: number;
  readonly toMicros: number;
  readonly healthMs: number;
  readonly cpuMs: number;
  readonly status: number;
}

const rows: Row[] = [];
try {
  const turn = (tools: readonly object[]) => chat([{ role: "user", content: "Go on." }], { tools, stream: true });
  for (let round = 0; round < 3; round++) {
    for (const [what, unit] of Object.entries(lines)) {
      said = unit.repeat(Math.ceil((200 * kilobyte) / unit.length));
      await measure(`200 KB of ${what}`, turn([anything]));
    }
  }
  const command = `${"a".repeat(64)}!`;
  said = JSON.stringify({ name: "bash", arguments: { command } });
  await measure("a schema with ^(a+)+$", turn([slow]));
  said = "Yes.";
  const members = `[${'{"a-member-name":1},'.repeat(3_000_000)}0]`;
  await measure("60 MB of 3 million members", chat([]).replace(/\}$/, `,"metadata":${members}}`));
  await measure("30 MB of empty arrays", chat([]).replace(/\}$/, `,"metadata":[${"[],".repeat(10 * megabyte)}0]}`));
  const words = "Some words of a message that says nothing much. ";
  const messages = (count: number, bytes: number) =>
    chat(
      Array.from({ length: count }, (_, i) => ({
        role: i % 2 === 0 ? "user" : "assistant",
        content: `${i} ${words.repeat(bytes / words.length)}`,
      })),
    );
  await measure("8 MB in 2,001 messages", messages(2_001, 4_000));
  await measure("8 MB in 20,001 messages", messages(20_001, 350));
  await measure("8 MB in one message", messages(1, 7.9 * megabyte));
  const url = `data:image/png;base64,${"iVBORw0KGgo/".repeat(3.5 * megabyte)}`;
  await measure("an image of 42 MB", chat([{ role: "user", content: [{ type: "image_url", image_url: { url } }] }]));
} finally {
  await gateway.stop();
  player.close();
}

const blocks = JSON.parse(readFileSync(file, "utf8")) as readonly Block[]; // written by count-blocks.ts
const plainMs = Math.min(...rows.filter(({ what }) => what.endsWith("plain words")).map(({ cpuMs }) => cpuMs));
console.log("what                            status  slowest /health  longest block  CPU       x plain words");
for (const what of new Set(rows.map((row) => row.what))) {
  const same = rows.filter((row) => row.what === what);
  const longest = same.map(({ fromMicros, toMicros }) =>
    Math.max(0, ...blocks.filter(({ endsAtMicros: at }) => at > fromMicros && at < toMicros).map(({ cpuMs }) => cpuMs)),
  );
  const least = (figures: readonly number[]) =>
    Math.min(...figures)
      .toFixed(0)
      .padStart(6);
  const cpuMs = same.map((row) => row.cpuMs);
  console.log(
    `${what.padEnd(32)}${same[0]?.status}     ${least(same.map(({ healthMs }) => healthMs))} ms        ${least(longest)} ms  ${least(cpuMs)} ms  ${(Math.min(...cpuMs) / plainMs).toFixed(1)}`,
  );
}

function chat(messages: readonly object[], more: object = {}): string {
  return JSON.stringify({ model: "claude-sonnet-4.6", messages, ...more });
}

/** Other work on the machine only adds, so the least of several rounds counts. */
async function measure(what: string, text: string): Promise<void> {
  const body = Buffer.from(text);
  const headers = { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" };
  const before = costOf(gateway.pid)?.cpuMs ?? Number.NaN;
  const fromMicros = Number(process.hrtime.bigint() / 1_000n);
  const state = { isDone: false };
  const done = fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", headers, body }).then(
    async (response) => {
      await response.text();
      return response.status;
    },
    () => 0, // refused before all of it was sent
  );
  void done.then(() => (state.isDone = true));
  let healthMs = 0;
  while (!state.isDone) {
    const askedAt = performance.now();
    await (await fetch(`${gateway.url}/health`)).text();
    healthMs = Math.max(healthMs, performance.now() - askedAt);
    await sleep(10);
  }
  const toMicros = Number(process.hrtime.bigint() / 1_000n);
  const cpuMs = (costOf(gateway.pid)?.cpuMs ?? Number.NaN) - before;
  rows.push({ what, fromMicros, toMicros, healthMs, cpuMs, status: await done });
}
