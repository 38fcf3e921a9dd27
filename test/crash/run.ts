import { CrashWorld, type Fate, type Outcome } from "./scenario.ts";

/**
 * `npm run test:crash`: kills real gateways, with real files and a real simulator, until it hurts. First one turn for every
 * write to the store, killed before and after it; then many turns at once, killed three times each batch, at random
 * writes, at calls to the IDE and at random times. Prints what was run; exits 1 if any promise was broken. `CRASH_TURNS`
 * sets how many turns the second part has, `CRASH_SEED` repeats a run, `CRASH_WORLDS` sets how many run side by side.
 */
const turnsWanted = Number(process.env["CRASH_TURNS"] ?? "500");
const seed = Number(process.env["CRASH_SEED"] ?? String(Date.now() % 1_000_000));
const width = Number(process.env["CRASH_WORLDS"] ?? "4");
const batchSize = 25;
const short = 60;
const long = 400;
const rpcs = ["StartCascade", "SendUserCascadeMessage", "GetCascadeTrajectorySteps", "ArchiveCascadeTrajectory"];

const random = generator(seed);
const startedAt = performance.now();
const total = { turns: 0, deaths: 0, connections: 0, broken: 0 };
const worlds = await Promise.all(Array.from({ length: width }, () => CrashWorld.open()));
try {
  say(`seed ${seed}, ${width} worlds`);
  const calm = await worlds[0]?.run(1, short, [{ kind: "none" }]);
  const writes = calm?.writes ?? 0;
  say(`a short turn makes ${writes} writes; killing before and after each`);
  const points = Array.from({ length: writes }, (_, i) =>
    (["before", "after"] as const).map((when): readonly Fate[] => [{ kind: "write", when, write: i + 1 }]),
  ).flat();
  await inAllWorlds(1, short, points);
  say(`${turnsWanted} turns in batches of ${batchSize}, three deaths each`);
  const batches = Array.from({ length: Math.ceil(turnsWanted / batchSize) }, () => [fate(), fate(), fate()]);
  await inAllWorlds(batchSize, long, batches);
} finally {
  await Promise.all(worlds.map((world) => world[Symbol.asyncDispose]()));
}
const seconds = Math.round((performance.now() - startedAt) / 1000);
say(`\n${total.turns} turns, ${total.deaths} deaths, ${total.connections} connections, ${seconds} s`);
say(total.broken === 0 ? "every promise held" : `${total.broken} promises broken; run again with CRASH_SEED=${seed}`);
if (total.broken > 0) process.exitCode = 1;

async function inAllWorlds(turns: number, characters: number, plans: readonly (readonly Fate[])[]): Promise<void> {
  const left = plans.values();
  await Promise.all(
    worlds.map(async (world) => {
      for (const fates of left) count(await world.run(turns, characters, fates), fates);
    }),
  );
}

function fate(): Fate {
  const luck = random();
  if (luck < 0.4) {
    const when = random() < 0.5 ? "before" : "after";
    return { kind: "write", when, write: 1 + Math.floor(random() * batchSize * 20) };
  }
  if (luck < 0.7) {
    const rpc = rpcs[Math.floor(random() * rpcs.length)] ?? "StartCascade";
    return { kind: "call", rpc, nth: 1 + Math.floor(random() * batchSize) };
  }
  return { kind: "time", afterMs: Math.floor(random() * 3_000) };
}

function count({ turns, deaths, connections, broken }: Outcome, fates: readonly Fate[]): void {
  total.turns += turns;
  total.deaths += deaths;
  total.connections += connections;
  total.broken += broken.length;
  say(`${JSON.stringify(fates)}: ${turns} turns, ${deaths} deaths, ${connections} connections`);
  for (const what of broken) say(`  BROKEN: ${what}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A small random generator with a seed (mulberry32): 0 to 1. */
function generator(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
