import { type GatewayProcess } from "../test/support/gateway-process.ts";
import { costOf } from "./gateway/process-cost.ts";
import type { Growth } from "./load/answer.ts";
import { askChat, askMessages, askResponses } from "./load/ask.ts";
import { median } from "./load/figures.ts";
import { openWorld } from "./load/gateway.ts";

/**
 * How the gateway's cost grows: with the length of an answer and of a conversation, the readers of one turn, slow readers, the
 * dialect, and the store.
 */
const repeats = 3;

interface Figure {
  readonly cpuMs: number;
  readonly tookMs: number;
  readonly peakMiB: number;
}

type Ask = (gateway: GatewayProcess, name: string) => Promise<void>;

console.log("answer length, typed steps, Chat Completions, 100,000 characters a second");
for (const characters of [1_000, 16_000, 256_000, 2_000_000]) {
  const figure = await measure({ characters, charactersPerSecond: 100_000, firstMs: 50 }, [], askChat);
  show(
    `${characters.toLocaleString("en")} characters`,
    figure,
    `${((figure.cpuMs / characters) * 1000).toFixed(1)} ms CPU per 1,000`,
  );
}

console.log("\nreaders of one turn, 2,000 characters at 1,000 a second");
const steady: Growth = { characters: 2_000, charactersPerSecond: 1_000, firstMs: 250 };
let one: Figure | undefined;
for (const readers of [1, 10, 100]) {
  const figure = await measure(steady, [], async (gateway, name) => {
    await Promise.all(
      Array.from({ length: readers }, () => askChat(gateway, name, { headers: { "idempotency-key": name } })),
    );
  });
  one ??= figure;
  show(`${readers} readers`, figure, `x${(figure.cpuMs / one.cpuMs).toFixed(2)} of one`);
}

console.log("\nconversation length, messages of 220 characters, an answer of 1,000");
const brief: Growth = { characters: 1_000, charactersPerSecond: 1_000, firstMs: 50 };
let shortest: Figure | undefined;
for (const messages of [2, 20, 100, 500]) {
  const figure = await measure(brief, [], (gateway, name) => askChat(gateway, name, {}, messages - 1));
  shortest ??= figure;
  show(`${messages} messages`, figure, `x${(figure.cpuMs / shortest.cpuMs).toFixed(2)} of 2`);
}

console.log("\nslow readers, 16 answers of 100,000 characters at 100,000 a second");
const broad: Growth = { characters: 100_000, charactersPerSecond: 100_000, firstMs: 50 };
for (const pauseMs of [0, 3_000]) {
  const figure = await measure(broad, [], (gateway, round) =>
    many(16, gateway, round, (to, name) => askChat(to, name, { pauseMs })),
  );
  show(pauseMs === 0 ? "they read at once" : "they pause for 3 s", figure, "");
}

console.log("\ndialects, 16 answers at once");
const dialects: Readonly<Record<string, Ask>> = {
  "Chat Completions": askChat,
  Responses: askResponses,
  Messages: askMessages,
};
let first: Figure | undefined;
for (const [name, ask] of Object.entries(dialects)) {
  const figure = await measure(steady, [], (gateway, round) => many(16, gateway, round, ask));
  first ??= figure;
  show(name, figure, `x${(figure.cpuMs / first.cpuMs).toFixed(2)} of Chat Completions`);
}

console.log("\nstores, 16 answers at once");
let memory: Figure | undefined;
for (const store of ["memory", "sqlite"]) {
  const figure = await measure(steady, ["--store", store], (gateway, round) => many(16, gateway, round, askChat));
  memory ??= figure;
  show(store, figure, `x${(figure.cpuMs / memory.cpuMs).toFixed(2)} of memory`);
}

/** Medians of repeats over one gateway, after an answer that warms it up. */
async function measure(growth: Growth, args: readonly string[], ask: Ask): Promise<Figure> {
  const world = await openWorld(growth);
  try {
    const gateway = await world.start(args);
    try {
      await ask(gateway, "warm-up");
      const figures: Figure[] = [];
      for (let round = 0; round < repeats; round++) {
        const [before, startedAt] = [costOf(gateway.pid), performance.now()];
        await ask(gateway, `round ${round}`);
        const after = costOf(gateway.pid);
        figures.push({
          cpuMs: (after?.cpuMs ?? Number.NaN) - (before?.cpuMs ?? Number.NaN),
          tookMs: performance.now() - startedAt,
          peakMiB: (after?.peakBytes ?? Number.NaN) / 2 ** 20,
        });
      }
      const of = (what: (figure: Figure) => number) => median(figures.map(what));
      return {
        cpuMs: of(({ cpuMs }) => cpuMs),
        tookMs: of(({ tookMs }) => tookMs),
        peakMiB: of(({ peakMiB }) => peakMiB),
      };
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

function show(what: string, { cpuMs, tookMs, peakMiB }: Figure, note: string): void {
  console.log(
    `${what.padEnd(24)} CPU ${cpuMs.toFixed(0).padStart(6)} ms  took ${tookMs.toFixed(0).padStart(6)} ms  peak ${peakMiB.toFixed(0)} MiB  ${note}`,
  );
}
