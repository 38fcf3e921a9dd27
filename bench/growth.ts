import { parseArgs } from "node:util";
import { type GatewayProcess } from "../test/support/gateway-process.ts";
import type { Growth } from "./load/answer.ts";
import { askChat, askMessages, askResponses } from "./load/ask.ts";
import { type Spread, spread } from "./load/figures.ts";
import { openWorld } from "./load/gateway.ts";
import { measureLogSize } from "./load/log-size.ts";
import { measureLongHistories } from "./load/long-histories.ts";
import { costOf } from "./load/process-cost.ts";
import { mostGrowth, readingGrowth } from "./load/reading.ts";
import { startRedis } from "./load/redis.ts";

/**
 * How the gateway's cost grows: with the length of an answer, of a conversation and of a trajectory, the size of the log, the readers of one turn, slow
 * readers, the dialect, and the store. Each row says how many times the first row's processor time it takes. `--only` names sections,
 * `--json` prints one object. `--only reading` fails where a longer answer takes more than its length to read; CI runs that.
 */
const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    json: { type: "boolean", default: false },
    repeats: { type: "string", default: "3" },
  },
});
const repeats = Number(options.repeats);

type Ask = (gateway: GatewayProcess, name: string) => Promise<void>;

interface Figure {
  readonly cpuMs: Spread;
  readonly tookMs: Spread;
  readonly peakMiB: number;
}

interface Case {
  readonly name: string;
  readonly growth: Growth;
  readonly ask: Ask;
  readonly args?: readonly string[];
  /** The server has no typed steps. */
  readonly transcriptOnly?: true;
}

const steady: Growth = { characters: 2_000, charactersPerSecond: 1_000, firstMs: 250 };
const brief: Growth = { characters: 1_000, charactersPerSecond: 1_000, firstMs: 50 };
const broad: Growth = { characters: 100_000, charactersPerSecond: 100_000, firstMs: 50 };
const redis = await startRedis();
const stores: Readonly<Record<string, readonly string[]>> = {
  memory: ["--store", "memory"],
  sqlite: ["--store", "sqlite"],
  ...(redis === undefined ? {} : { redis: ["--store", "redis", "--redis-url", redis.url] }),
};
const dialects: Readonly<Record<string, Ask>> = {
  "Chat Completions": askChat,
  Responses: askResponses,
  Messages: askMessages,
};

const sections: Readonly<Record<string, readonly Case[]>> = {
  "answer length": [1_000, 16_000, 256_000, 2_000_000].map((characters) => ({
    name: `${characters.toLocaleString("en")} characters`,
    growth: { characters, charactersPerSecond: 100_000, firstMs: 50 },
    ask: askChat,
  })),
  "conversation length": [2, 20, 100, 500].map((messages) => ({
    name: `${messages} messages`,
    growth: brief,
    ask: (gateway, name) => askChat(gateway, name, {}, messages - 1),
  })),
  "steps before the answer": quiet({}),
  "the same, transcript only": quiet({ transcriptOnly: true }),
  "readers of one turn": [1, 10, 100].map((readers) => ({
    name: `${readers} readers`,
    growth: steady,
    ask: async (gateway, name) => {
      const key = { headers: { "idempotency-key": name } };
      await Promise.all(Array.from({ length: readers }, () => askChat(gateway, name, key)));
    },
  })),
  "slow readers, 16 at once": [0, 3_000].map((pauseMs) => ({
    name: pauseMs === 0 ? "they read at once" : "they pause for 3 s",
    growth: broad,
    ask: (gateway, round) => many(16, gateway, round, (to, name) => askChat(to, name, { pauseMs })),
  })),
  "dialects, 16 at once": Object.entries(dialects).map(([name, ask]) => ({
    name,
    growth: steady,
    ask: (gateway, round) => many(16, gateway, round, ask),
  })),
  "stores, 16 at once": Object.entries(stores).map(([name, args]) => ({
    name,
    args,
    growth: steady,
    ask: (gateway, round) => many(16, gateway, round, askChat),
  })),
};

const wanted = options.only?.split(",");
const isWanted = (section: string) => wanted === undefined || wanted.some((name) => section.startsWith(name));
const report: { readonly section: string; readonly name: string; readonly [figure: string]: unknown }[] = [];
try {
  for (const [section, cases] of Object.entries(sections).filter(([section]) => isWanted(section)))
    await run(section, cases);
  if (isWanted("reading")) {
    say("\nreading answers for calls and to a limit: a KB of a long answer beside a KB of a short one");
    for (const { name, times } of readingGrowth()) {
      report.push({ section: "reading", name, times });
      say(`x${times.toFixed(2)}  ${name}`);
      if (times > mostGrowth) process.exitCode = 1;
    }
  }
  if (isWanted("long histories"))
    for (const row of await measureLongHistories(repeats)) {
      report.push({ section: "long histories", ...row });
      const { name, healthMs, peakMiB, waitMs } = row;
      say(
        `${name.padEnd(24)} first /health after ${healthMs.median.toFixed(0)} ms (${healthMs.min.toFixed(0)}-${healthMs.max.toFixed(0)}), at most ${peakMiB.median.toFixed(0)} MiB, another client's stream waits at most ${waitMs.alone.toFixed(0)} ms, ${waitMs.asked.toFixed(0)} ms while lists are asked for all the time`,
      );
    }
  if (isWanted("log size"))
    for (const row of await measureLogSize([10, 1_000, 10_000, 100_000])) {
      report.push({ section: "log size", name: `${row.turns} turns`, ...row });
      say(
        `log of ${row.turns.toLocaleString("en").padStart(7)} turns: a reader that returns has its first event after ${row.firstMs.p50.toFixed(1)} / ${row.firstMs.p95.toFixed(1)} ms (p50 / p95), an answer costs ${row.cpuMs.median.toFixed(0)} ms of CPU (${row.cpuMs.min.toFixed(0)}-${row.cpuMs.max.toFixed(0)})`,
      );
    }
} finally {
  await redis?.stop();
}
if (options.json) console.log(JSON.stringify({ bench: "growth", repeats, rows: report }));

async function run(section: string, cases: readonly Case[]): Promise<void> {
  say(`\n${section}`);
  let first: Figure | undefined;
  for (const one of cases) {
    const figure = await measure(one);
    first ??= figure;
    const times = figure.cpuMs.median / first.cpuMs.median;
    report.push({ section, name: one.name, ...figure, times });
    const { cpuMs, tookMs, peakMiB } = figure;
    say(
      `${one.name.padEnd(24)} CPU ${cpuMs.median.toFixed(0).padStart(6)} ms (${cpuMs.min.toFixed(0)}-${cpuMs.max.toFixed(0)})  x${times.toFixed(2)}  took ${tookMs.median.toFixed(0).padStart(6)} ms  peak ${peakMiB.toFixed(0)} MiB`,
    );
  }
}

/** The server takes an offset, so what was read once need not be read by each poll. */
function quiet(way: Pick<Case, "transcriptOnly">): readonly Case[] {
  return [2, 20, 100, 500].map((quietSteps) => ({
    ...way,
    name: `${quietSteps} steps`,
    growth: { ...steady, quietSteps },
    ask: askChat,
  }));
}

/** Repeats over one gateway, after an answer that warms it up. */
async function measure({ growth, args = [], ask, transcriptOnly }: Case): Promise<Figure> {
  const world = await openWorld(growth, transcriptOnly !== true);
  try {
    const gateway = await world.start(args);
    try {
      await ask(gateway, "warm-up");
      const [cpuMs, tookMs]: [number[], number[]] = [[], []];
      for (let round = 0; round < repeats; round++) {
        const [before, startedAt] = [costOf(gateway.pid), performance.now()];
        await ask(gateway, `round ${round}`);
        cpuMs.push((costOf(gateway.pid)?.cpuMs ?? Number.NaN) - (before?.cpuMs ?? Number.NaN));
        tookMs.push(performance.now() - startedAt);
      }
      const peakMiB = (costOf(gateway.pid)?.peakBytes ?? Number.NaN) / 2 ** 20;
      return { cpuMs: spread(cpuMs), tookMs: spread(tookMs), peakMiB };
    } finally {
      await gateway.stop();
    }
  } finally {
    world.close();
  }
}

async function many(turns: number, gateway: GatewayProcess, round: string, ask: Ask): Promise<void> {
  await Promise.all(Array.from({ length: turns }, (_, turn) => ask(gateway, `${round}, turn ${turn}`)));
}

function say(line: string): void {
  if (!options.json) console.log(line);
}
