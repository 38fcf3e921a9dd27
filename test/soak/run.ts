import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { generator, say, table } from "../support/long-suite.ts";
import type { LogSize } from "./log-size.ts";
import { Soak, type Window } from "./soak.ts";
import { accumulates, grown, type Room, spread } from "./verdict.ts";

/**
 * `npm test -- search soak`: thousands of turns over one gateway, in every dialect, while calls to the IDE fail, clients leave, and
 * the IDE and then the gateway are killed. Exits 1 if an answer is lost, a prompt is sent twice, or what the gateway holds grows. Answers
 * are kept for a minute, so that the size of the log can be judged: no answer may be left at the end, and once the retention deletes, the
 * log must not grow from window to window.
 * `--acp`: over an agent, which dies in place of the IDE. `--turns` (20,000), `--short` (400 turns; so does CI), `--json FILE`, `--seed` repeats the order of events.
 * `--short --acp` takes a minute: 160 turns, and the log is not judged, which is the same one over Cascade.
 * `--minutes 65`: spreads the turns evenly over so many minutes, with owners' pages open beside them, so that hours of ordinary use are tried.
 */
const { values: options } = parseArgs({
  options: {
    turns: { type: "string" },
    short: { type: "boolean", default: process.env["CI"] !== undefined },
    acp: { type: "boolean", default: false },
    minutes: { type: "string", default: "0" },
    json: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const isBrief = options.short && options.acp;
const turns = Number(options.turns ?? (isBrief ? "160" : options.short ? "400" : "20000"));
const restarts = options.short ? 3 : 20;
const calmSeconds = isBrief ? 10 : options.short ? 40 : 60;
const windows = 12;
if (!Number.isInteger(turns) || turns < windows * 10)
  throw new Error(`--turns needs a whole number from ${windows * 10} on.`);
if (process.platform !== "linux") throw new Error("The soak reads what a process holds from /proc; run it on Linux.");

/** Kept for a minute, and swept once a minute; the machine may be busy. */
const erasedSeconds = isBrief ? 0 : 240;
/** The log is looked at this often at most: what comes and goes with a sweep is no growth. */
const lookEverySeconds = 60;
/** With fewer looks since the retention began to delete, a slope says nothing. */
const fewestJudged = 5;
/** Of a turn that has expired, and of its entry in the usage history. */
const mostRememberedBytes = 4_096;

/** Of what each figure may be more at the end of the load. */
const rooms = {
  heapMiB: { share: 0.15, absolute: 6 },
  handles: { share: 0.2, absolute: 10 },
  files: { share: 0.1, absolute: 3 },
  sockets: { share: 0.2, absolute: 20 },
  openConversations: { share: 0.2, absolute: 50 },
  homeFiles: { share: 0.1, absolute: 10 },
} as const satisfies Readonly<Record<string, Room>>;

const mine = mkdtempSync(join(tmpdir(), "soak-"));
mkdirSync(join(mine, "t")); // short, for the sockets below it
process.env["TMPDIR"] = join(mine, "t"); // clients leave a folder for each turn
const startedAt = performance.now();
try {
  await soak();
} finally {
  rmSync(mine, { recursive: true, force: true });
}

async function soak(): Promise<void> {
  const everyMs = (Number(options.minutes) * 60_000) / turns;
  await using world = await Soak.open({
    folder: mine,
    random: generator(Number(options.seed)),
    acp: options.acp,
    everyMs,
  });
  await world.restarts(Math.floor(turns / 5), restarts);
  say(`${world.outcome.asked} turns with ${world.gatewayDeaths} deaths of the gateway, ${seconds()} s`);
  await world.freshGateway();
  await using _ = everyMs > 0 ? await world.openPages(3) : undefined;
  const steady = turns - world.outcome.asked;
  await world.load(Math.floor(steady / windows), false); // warms it up: what is loaded once is loaded now
  const rows = [await world.look()];
  const times = [seconds()];
  for (let i = 1; i < windows; i++) {
    await world.load(Math.floor(steady / windows), i % 3 === 1);
    rows.push(await world.look());
    times.push(seconds());
    say(`window ${i} of ${windows - 1}: ${world.outcome.asked} turns, ${seconds()} s`);
  }
  const calm = await world.calm(calmSeconds);
  const erased = await world.erased(erasedSeconds);
  const prompts = await world.standIn.prompts();
  const figures = [...rows, calm];
  say(
    table(
      ["turns", ...Object.keys(calm)],
      figures.map((row, i) => [
        i < rows.length ? `window ${i + 1}` : `${calmSeconds} s later`,
        ...Object.values(row).map((value) => (value as number).toFixed(1)),
      ]),
    ),
  );
  const { asked, answered, failed, lost } = world.outcome;
  const may = world.standIn.faults + world.standIn.deaths * world.atOnce;
  const broken = [
    ...lost.map((each) => `lost: ${each}`),
    ...prompts.twice.map((text) => `prompted twice: ${text.slice(0, 80)}`),
    ...(failed.length > may ? [`${failed.length} turns failed, and only ${may} met a fault`] : []),
    ...Object.entries(rooms).flatMap(([name, room]) => {
      // a short run is over before the gateway closes its first idle connection, and a brief one before memory is collected: then what
      // is left after the load counts
      const isLeft = isBrief || ["handles", "sockets"].includes(name);
      const looks = isLeft ? [...rows.slice(0, 1), calm] : rows;
      const how = grown(
        looks.map((row) => row[name as keyof typeof rooms]),
        room,
      );
      return how === undefined ? [] : [`${name} ${how}`];
    }),
    ...(calm.residentMiB > most(rows[0]?.residentMiB)
      ? [`resident memory stays at ${calm.residentMiB} MiB after the load`]
      : []),
    ...(calm.heapMiB > most(rows[0]?.heapMiB) ? [`the heap stays at ${calm.heapMiB} MiB after the load`] : []),
    ...(erased.keptTurns > 0 && !isBrief
      ? [`${erased.keptTurns} turns are still kept ${erasedSeconds} s after the load, in ${erased.contentMiB} MiB`]
      : []),
    ...(isBrief ? [] : judgeLog(rows, times, erased)),
  ];
  say(
    `${asked} turns: ${answered} answered, ${failed.length} failed and said so, ${lost.length} lost; ${prompts.accepted} prompts`,
  );
  say(
    `${world.gatewayDeaths} deaths of the gateway, ${world.standIn.deaths} of the IDE, ${world.standIn.faults} calls that failed`,
  );
  if (!isBrief) say(`of an expired turn the log remembers ${rememberedBytes(erased).toFixed(0)} bytes`);
  say(`seed ${options.seed}, ${seconds()} s`);
  for (const each of broken) say(`BROKEN: ${each}`);
  if (options.json !== undefined)
    writeFileSync(
      options.json,
      JSON.stringify(
        { turns: asked, answered, failed: failed.length, lost, prompts, rows, calm, erased, broken },
        undefined,
        2,
      ),
    );
  process.exitCode = broken.length > 0 ? 1 : 0;
}

/** What is wrong with the log's size: by windows where there were enough of them, and of each turn for good. */
function judgeLog(rows: readonly Window[], times: readonly number[], erased: LogSize): readonly string[] {
  const since = rows.findIndex(({ erasedTurns }) => erasedTurns > 0);
  const judged = since < 0 ? [] : spread(rows.slice(since), times.slice(since), lookEverySeconds);
  const remembered = rememberedBytes(erased);
  const forGood =
    remembered > mostRememberedBytes ? [`of each expired turn ${remembered.toFixed(0)} bytes stay in the log`] : [];
  const [first, last] = [judged[0], judged.at(-1)];
  if (first === undefined || last === undefined || judged.length < fewestJudged) {
    say(`the log was judged by its end alone: ${judged.length} looks a minute apart while the retention deleted`);
    return forGood;
  }
  const bytesEach = last.contentMiB / last.keptTurns;
  const turnsOf = ({ keptTurns, erasedTurns }: Window) => keptTurns + erasedTurns;
  const written = (bytesEach * (turnsOf(last) - turnsOf(first))) / (judged.length - 1);
  const content = judged.map(({ contentMiB }) => contentMiB);
  const file = judged.map(({ logMiB, rememberedMiB }) => logMiB - rememberedMiB);
  return [
    ...told("what the log keeps of answers", accumulates(content, written)),
    ...told("the log's file", accumulates(file, written)),
    ...forGood,
  ];
}

function told(what: string, how: string | undefined): readonly string[] {
  return how === undefined ? [] : [`${what} ${how} (MiB)`];
}

function rememberedBytes({ rememberedMiB, erasedTurns }: LogSize): number {
  return (rememberedMiB * 2 ** 20) / Math.max(1, erasedTurns);
}

/** What is near the start. */
function most(start = 0): number {
  return start * 1.3 + 24;
}

function seconds(): number {
  return Math.round((performance.now() - startedAt) / 1_000);
}
