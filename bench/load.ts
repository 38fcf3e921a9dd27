import { parseArgs } from "node:util";
import type { Growth, Lags } from "./load/answer.ts";
import type { AgentOrder } from "./load/bare-client.ts";
import type { PollOrder, PollReport } from "./load/bare-poller.ts";
import { median, spread } from "./load/figures.ts";
import { agentCommand, model, openAgentWorld, openWorld } from "./load/gateway.ts";
import { asked } from "./load/process.ts";
import { costOf, cpuWithChildren } from "./load/process-cost.ts";
import { quantile } from "./load/quantile.ts";
import { readWatched } from "./load/read-watched.ts";
import type { ServerReport } from "./load/server.ts";
import type { ReadOrder, ReadReport } from "./load/sse-reader.ts";

/**
 * What the gateway costs beside a bare poller, in one run: the same server, the same answers, in turns. `acp` is the gateway and its
 * agent's host together, beside a client on the agent's own pipes. `--short` takes about a minute and fails on gross regressions against the bare poller of the same run; CI runs it. `--bin FILE` measures another build;
 * `--profile DIR` leaves a CPU profile of the gateway there.
 */
const { values: options } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    streams: { type: "string" },
    rounds: { type: "string" },
    ways: { type: "string" },
    bin: { type: "string" },
    rest: { type: "string" },
    profile: { type: "string" },
    characters: { type: "string" },
  },
});

const growth: Growth = {
  characters: Number(options.characters ?? (options.short ? 1_000 : 2_000)),
  charactersPerSecond: 200,
  firstMs: 250,
};
const bare = { pollMs: 20, pollMsMany: 50, manyFrom: 16 };
const levels = (options.streams ?? (options.short ? "1,16" : "1,16,64,200,400")).split(",").map(Number);
const rounds = Number(options.rounds ?? (options.short ? 1 : 3));
const allWays = ["transcript/grpc", "steps/grpc", "transcript/connect", "steps/connect", "acp"] as const;
type Way = (typeof allWays)[number];
const ways = (options.ways?.split(",") ??
  (options.short ? ["transcript/grpc", "steps/grpc", "acp"] : allWays)) as Way[]; // names an unknown one below

/** One round of one level. Lags in ms. */
interface Round {
  readonly lags: readonly Lags[];
  readonly cpuMs: number;
  readonly residentBytes: number;
  readonly failures: number;
  readonly slowestHealthMs: number;
  readonly connections: number;
  /** Polls that the gateway made, and in which time; none of the bare poller. */
  readonly polls: number;
  readonly ms: number;
}

interface Row {
  readonly way: string;
  readonly streams: number;
  readonly who: "bare" | "gateway";
  readonly rounds: readonly Round[];
}

const rows: Row[] = [];
let idleBytes = 0;
let restedBytes: number | undefined;
for (const way of ways) rows.push(...(await measure(way)));
report();

async function measure(way: Way): Promise<Row[]> {
  const [reading, protocol] = way.split("/");
  if (!allWays.includes(way)) throw new Error(`--ways takes ${allWays.join(", ")}`);
  const isAgent = way === "acp";
  const server = isAgent
    ? undefined
    : await openWorld(growth, reading === "steps", protocol === "grpc" ? "grpc" : "connect");
  const world = server ?? openAgentWorld(growth);
  try {
    const { bin, profile } = options;
    const how = { ...(bin === undefined ? {} : { bin }), ...(profile === undefined ? {} : { profile }) };
    const gateway = await world.start([], how);
    const seenByServer = async (): Promise<Pick<ServerReport, "connections" | "polls">> =>
      (await server?.report()) ?? { connections: Number.NaN, polls: Number.NaN };
    try {
      const through = async (streams: number, round: string): Promise<Round> => {
        const before = cpuWithChildren(gateway.pid);
        const seen = await seenByServer();
        const asks = { model: isAgent ? "load/default" : model, growth, streams, round };
        const read: ReadOrder = { url: gateway.url, key: gateway.key, ...asks };
        const startedAt = performance.now();
        // a question each 100 ms is a tenth of what one stream costs, and nobody asks the bare poller
        const isWatched = streams >= bare.manyFrom;
        const { lags, failures, slowestHealthMs } = isWatched
          ? await readWatched(read)
          : { ...(await asked<ReadReport>("sse-reader.ts", read)), slowestHealthMs: Number.NaN };
        const ms = performance.now() - startedAt;
        if (failures[0] !== undefined)
          console.error(`  ${failures.length} answers failed: ${failures[0].slice(0, 300)}`);
        const now = await seenByServer();
        return {
          lags,
          failures: failures.length,
          slowestHealthMs,
          cpuMs: cpuWithChildren(gateway.pid) - before,
          residentBytes: costOf(gateway.pid)?.residentBytes ?? Number.NaN,
          connections: now.connections - seen.connections,
          polls: now.polls - seen.polls,
          ms,
        };
      };
      await through(1, "warm-up"); // finds the server, compiles, makes the log
      idleBytes ||= costOf(gateway.pid)?.residentBytes ?? Number.NaN;
      const found: Row[] = [];
      for (const streams of levels) {
        const [bareRounds, gatewayRounds]: [Round[], Round[]] = [[], []];
        for (let round = 0; round < rounds; round++) {
          if (isAgent) bareRounds.push(await followBare(streams));
          else if (server !== undefined && protocol === "grpc") bareRounds.push(await pollBare(server.port, streams));
          gatewayRounds.push(await through(streams, `${way} ${streams} ${round}`));
        }
        if (bareRounds.length > 0) found.push({ way, streams, who: "bare", rounds: bareRounds });
        found.push({ way, streams, who: "gateway", rounds: gatewayRounds });
        if (!options.json) for (const row of found.slice(bareRounds.length > 0 ? -2 : -1)) show(row);
      }
      if (options.rest !== undefined && restedBytes === undefined) {
        await new Promise((resolve) => setTimeout(resolve, Number(options.rest) * 1000));
        restedBytes = costOf(gateway.pid)?.residentBytes;
      }
      return found;
    } finally {
      await gateway.stop();
    }
  } finally {
    world.close();
  }
}

async function pollBare(port: number, streams: number): Promise<Round> {
  const pollMs = streams < bare.manyFrom ? bare.pollMs : bare.pollMsMany;
  const order: PollOrder = { port, growth, pollMs, streams };
  return roundOf(await asked<PollReport>("bare-poller.ts", order));
}

async function followBare(streams: number): Promise<Round> {
  const order: AgentOrder = { command: agentCommand(growth), growth, streams };
  return roundOf(await asked<PollReport>("bare-client.ts", order));
}

function roundOf({ lags, cpuMs, residentBytes }: PollReport): Round {
  return {
    lags,
    cpuMs,
    residentBytes,
    failures: 0,
    slowestHealthMs: Number.NaN,
    connections: 1,
    polls: Number.NaN,
    ms: Number.NaN,
  };
}

function lagsIn(row: Row, of: (lags: Lags) => readonly number[]): readonly number[] {
  return row.rounds.flatMap((round) => round.lags.flatMap(of));
}

/** The figures of a row: lags over all answers of all rounds; costs as the median of the rounds. */
function figuresOf(row: Row) {
  const lag = (of: (lags: Lags) => readonly number[]) => {
    const values = lagsIn(row, of);
    return { p50: quantile(values, 0.5), p95: quantile(values, 0.95) };
  };
  const worst = row.rounds.flatMap(({ lags }) => lags.map(({ deltaMs }) => quantile(deltaMs, 0.5)));
  return {
    way: row.way,
    streams: row.streams,
    who: row.who,
    setupMs: lag(({ setupMs }) => [setupMs]),
    firstMs: lag(({ firstMs }) => [firstMs]),
    deltaMs: lag(({ deltaMs }) => deltaMs),
    endMs: lag(({ endMs }) => [endMs]),
    /** The slowest answer against the median one. */
    starvation: Math.max(...worst) / quantile(worst, 0.5),
    cpuSeconds: spread(row.rounds.map(({ cpuMs }) => cpuMs / 1000)),
    residentMiB: spread(row.rounds.map(({ residentBytes }) => residentBytes / 2 ** 20)),
    slowestHealthMs: Math.max(...row.rounds.map(({ slowestHealthMs }) => slowestHealthMs)),
    connections: median(row.rounds.map(({ connections }) => connections)),
    cpuMicrosecondsAPoll: median(row.rounds.map(({ cpuMs, polls }) => (cpuMs * 1000) / polls)),
    pollsASecond: median(row.rounds.map(({ polls, ms }) => (polls * 1000) / ms)),
    failures: row.rounds.reduce((sum, { failures }) => sum + failures, 0),
  };
}

function show(row: Row): void {
  const f = figuresOf(row);
  const pair = ({ p50, p95 }: { readonly p50: number; readonly p95: number }) => `${p50.toFixed(0)}/${p95.toFixed(0)}`;
  console.log(
    [
      f.way.padEnd(18),
      String(f.streams).padStart(4),
      f.who.padEnd(8),
      `setup ${pair(f.setupMs)}`,
      `first ${pair(f.firstMs)}`,
      `delta ${pair(f.deltaMs)}`,
      `end ${pair(f.endMs)}`,
      `cpu ${f.cpuSeconds.median.toFixed(2)} s (${f.cpuSeconds.min.toFixed(2)}-${f.cpuSeconds.max.toFixed(2)})`,
      `${f.residentMiB.median.toFixed(0)} MiB`,
      ...(f.who === "bare"
        ? []
        : [
            `starvation ${f.starvation.toFixed(1)}`,
            ...(Number.isNaN(f.slowestHealthMs) ? [] : [`health ${f.slowestHealthMs.toFixed(0)}`]),
            ...(Number.isNaN(f.connections)
              ? []
              : [
                  `conns ${f.connections}`,
                  `${f.cpuMicrosecondsAPoll.toFixed(0)} µs a poll`,
                  `${f.pollsASecond.toFixed(0)} polls a second`,
                ]),
          ]),
      ...(f.failures === 0 ? [] : [`${f.failures} FAILED`]),
    ].join("  "),
  );
}

function report(): void {
  const figures = rows.map(figuresOf);
  const memory = {
    idleMiB: idleBytes / 2 ** 20,
    ...(restedBytes === undefined ? {} : { restedMiB: restedBytes / 2 ** 20 }),
  };
  if (options.json) console.log(JSON.stringify({ growth, bare, rounds, memory, rows: figures }));
  else
    console.log(
      `resident: idle ${memory.idleMiB.toFixed(0)} MiB${restedBytes === undefined ? "" : `, ${options.rest} s after the load ${(restedBytes / 2 ** 20).toFixed(0)} MiB`}`,
    );
  if (!options.short) return;
  for (const problem of regressions(figures)) {
    console.error(`regression: ${problem}`);
    process.exitCode = 1;
  }
}

/** What is far outside of the bare poller of the same run. Wide on purpose: CI's machine is shared, and a small loss is no failure. */
function regressions(figures: readonly ReturnType<typeof figuresOf>[]): readonly string[] {
  const problems: string[] = [];
  for (const gateway of figures.filter(({ who }) => who === "gateway")) {
    const { way, streams } = gateway;
    const beside = figures.find((row) => row.who === "bare" && row.way === way && row.streams === streams);
    const check = (what: string, value: number, bareValue: number, allowed: { times: number; slack: number }) => {
      if (value > bareValue * allowed.times + allowed.slack)
        problems.push(`${way}, ${streams} streams: ${what} ${value.toFixed(1)}, bare ${bareValue.toFixed(1)}`);
    };
    if (gateway.failures > 0) problems.push(`${way}, ${streams} streams: ${gateway.failures} answers failed`);
    if (beside === undefined) continue;
    check("median lag of a delta (ms)", gateway.deltaMs.p50, beside.deltaMs.p50, { times: 4, slack: 60 });
    // All answers of a round end together, so one pause of the machine is in the median; and a build without a status is looked at twice, 100 ms apart.
    check("median lag of the end (ms)", gateway.endMs.p50, beside.endMs.p50, { times: 4, slack: 600 });
    const times = way === "acp" ? 20 : 8; // a line of a pipe costs a fraction of a poll
    check("processor time (s)", gateway.cpuSeconds.median, beside.cpuSeconds.median, { times, slack: 0.6 });
  }
  return problems;
}
