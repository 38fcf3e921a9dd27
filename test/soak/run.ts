import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { generator, say, table } from "../support/long-suite.ts";
import { Soak } from "./soak.ts";
import { grown, type Room } from "./verdict.ts";

/**
 * `npm run test:soak`: thousands of turns over one gateway, in every dialect, while calls to the IDE fail, clients leave, and
 * the IDE and then the gateway are killed. Exits 1 if an answer is lost, a prompt is sent twice, or what the gateway holds grows.
 * `--turns` (20,000), `--short` (400 turns; CI), `--json FILE`, `--seed` repeats the order of events.
 */
const { values: options } = parseArgs({
  options: {
    turns: { type: "string" },
    short: { type: "boolean", default: false },
    json: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const turns = Number(options.turns ?? (options.short ? "400" : "20000"));
const restarts = options.short ? 3 : 20;
const calmSeconds = options.short ? 20 : 60;
const windows = 12;
if (!Number.isInteger(turns) || turns < windows * 10)
  throw new Error(`--turns needs a whole number from ${windows * 10} on.`);
if (process.platform !== "linux") throw new Error("The soak reads what a process holds from /proc; run it on Linux.");

/** Of what each figure may be more at the end of the load. */
const rooms = {
  heapMiB: { share: 0.15, absolute: 6 },
  handles: { share: 0.2, absolute: 10 },
  files: { share: 0.1, absolute: 3 },
  sockets: { share: 0.2, absolute: 20 },
  openConversations: { share: 0.2, absolute: 50 },
} as const satisfies Readonly<Record<string, Room>>;

const mine = mkdtempSync(join(tmpdir(), "millrace-soak-"));
mkdirSync(join(mine, "tmp"));
process.env["TMPDIR"] = join(mine, "tmp"); // clients leave a folder for each turn
const startedAt = performance.now();
try {
  await soak();
} finally {
  rmSync(mine, { recursive: true, force: true });
}

async function soak(): Promise<void> {
  await using world = await Soak.open({ folder: mine, random: generator(Number(options.seed)) });
  await world.restarts(Math.floor(turns / 5), restarts);
  say(`${world.outcome.asked} turns with ${world.gatewayDeaths} deaths of the gateway, ${seconds()} s`);
  await world.freshGateway();
  const steady = turns - world.outcome.asked;
  await world.load(Math.floor(steady / windows), false); // warms it up: what is loaded once is loaded now
  const rows = [await world.look()];
  for (let i = 1; i < windows; i++) {
    await world.load(Math.floor(steady / windows), i % 3 === 1);
    rows.push(await world.look());
    say(`window ${i} of ${windows - 1}: ${world.outcome.asked} turns, ${seconds()} s`);
  }
  const calm = await world.calm(calmSeconds);
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
      const how = grown(
        rows.map((row) => row[name as keyof typeof rooms]),
        room,
      );
      return how === undefined ? [] : [`${name} ${how}`];
    }),
    ...(calm.residentMiB > most(rows[0]?.residentMiB)
      ? [`resident memory stays at ${calm.residentMiB} MiB after the load`]
      : []),
    ...(calm.heapMiB > most(rows[0]?.heapMiB) ? [`the heap stays at ${calm.heapMiB} MiB after the load`] : []),
  ];
  const logBytesPerTurn =
    (((rows.at(-1)?.logMiB ?? 0) - (rows[Math.floor(windows / 2)]?.logMiB ?? 0)) * 2 ** 20) / (steady / 2);
  say(
    `${asked} turns: ${answered} answered, ${failed.length} failed and said so, ${lost.length} lost; ${prompts.accepted} prompts`,
  );
  say(
    `${world.gatewayDeaths} deaths of the gateway, ${world.standIn.deaths} of the IDE, ${world.standIn.faults} calls that failed`,
  );
  say(`the log grows by ${logBytesPerTurn.toFixed(0)} bytes a turn at the end; seed ${options.seed}, ${seconds()} s`);
  for (const each of broken) say(`BROKEN: ${each}`);
  if (options.json !== undefined)
    writeFileSync(
      options.json,
      JSON.stringify(
        { turns: asked, answered, failed: failed.length, lost, prompts, rows, calm, logBytesPerTurn, broken },
        undefined,
        2,
      ),
    );
  process.exitCode = broken.length > 0 ? 1 : 0;
}

/** What is near the start. */
function most(start = 0): number {
  return start * 1.3 + 24;
}

function seconds(): number {
  return Math.round((performance.now() - startedAt) / 1_000);
}
