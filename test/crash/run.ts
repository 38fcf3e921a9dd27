import { generator, part, say, table } from "../support/long-suite.ts";
import { callsOf, type UpstreamName, upstreamNames } from "../support/upstream.ts";
import { crashClients } from "./clients.ts";
import type { CrashClient } from "./crash-client.ts";
import { CrashWorld, type Fate, type Outcome } from "./scenario.ts";

/**
 * `npm test -- search crash`: kills real gateways, with real files and a real simulator, until it hurts. First, for every way of
 * asking, one turn for every write to the store, killed before and after it; then many turns of all kinds at once, killed three
 * times each batch, at random writes, at calls to the IDE and at random times, with clients that are killed themselves. All of it
 * over Cascade and over ACP, where the agent and its host are killed too, alone or with the gateway.
 *
 * Exits 1 if any promise was broken, 2 if some turns only ended as failed and said so, or stalled: an answer that is late
 * because nothing moved for `CRASH_PATIENCE` seconds (120) is told apart from one that is lost or wrong. An answer that its agent
 * left cut is no fault: it fails by name and keeps what had arrived. `CRASH_BACKEND=ACP` picks one backend, `CRASH_CLIENTS` clients by a part of their
 * names, `CRASH_TURNS` sets how many turns the second half has (500), `CRASH_WRITES=0` leaves the first half out,
 * `CRASH_FATES=gateway` kills gateways alone, half of them with SIGTERM. `CRASH_SEED` repeats a run, `CRASH_WORLDS` sets how many run side by side (4), `CRASH_PART=2/3` runs one part of three.
 */
const turnsWanted = Number(process.env["CRASH_TURNS"] ?? "500");
const seed = Number(process.env["CRASH_SEED"] ?? String(Date.now() % 1_000_000));
const width = Number(process.env["CRASH_WORLDS"] ?? "4");
const patienceMs = 1_000 * Number(process.env["CRASH_PATIENCE"] ?? "120");
const wanted = process.env["CRASH_CLIENTS"] ?? "";
const clients = crashClients.filter(({ name }) => name.includes(wanted));
const batchSize = 25;
const short = 60;
const long = 400;
const gatewaysAlone = process.env["CRASH_FATES"] === "gateway";
const wantedBackend = process.env["CRASH_BACKEND"] ?? "";
const backends = upstreamNames.filter((name) => name.includes(wantedBackend));

interface Plan {
  readonly backend: UpstreamName;
  readonly clients: readonly CrashClient[];
  readonly characters: number;
  readonly fates: readonly Fate[];
}

interface Sum {
  turns: number;
  clientDeaths: number;
  connections: number;
  broken: number;
  cut: number;
  failed: number;
  stalled: number;
}

const random = generator(seed);
const startedAt = performance.now();
const total = { plans: 0, done: 0, deaths: 0, broken: 0, failed: 0, stalled: 0 };
const sums = new Map<string, Sum>();
const worlds = await Promise.all(
  Array.from({ length: Math.max(width, backends.length) }, async (_, i) => {
    const backend = backends[i % backends.length] ?? "Cascade";
    return { backend, world: await CrashWorld.open(patienceMs, backend) };
  }),
);
try {
  say(
    `seed ${seed}, ${worlds.length} worlds, ${backends.join(" and ")}, ${clients.map(({ name }) => name).join("; ")}`,
  );
  const plans: Plan[] = [];
  for (const backend of process.env["CRASH_WRITES"] === "0" ? [] : backends) {
    const calmWorld = worlds.find((each) => each.backend === backend)?.world;
    for (const client of clients) {
      const plan: Plan = { backend, clients: [client], characters: short, fates: [{ kind: "none" }] };
      const calm = await calmWorld?.run({ ...batchOf(plan), clientDeaths: 0 });
      const writes = calm?.writes ?? 0;
      say(`${backend}, ${client.name}: a short turn makes ${writes} writes`);
      for (let write = 1; write <= writes; write++)
        for (const when of ["before", "after"] as const)
          plans.push({ ...plan, fates: [{ kind: "write", when, write }] });
    }
  }
  for (let turn = 0; turn < turnsWanted; turn += batchSize) {
    const size = Math.min(batchSize, turnsWanted - turn);
    const some = Array.from({ length: size }, (_, i) => clients[(turn + i) % clients.length] ?? []).flat();
    const backend = backends[(turn / batchSize) % backends.length] ?? "Cascade";
    plans.push({ backend, clients: some, characters: long, fates: [fate(backend), fate(backend), fate(backend)] });
  }
  await inAllWorlds(part(plans, process.env["CRASH_PART"]));
} finally {
  await Promise.all(worlds.map(({ world }) => world[Symbol.asyncDispose]()));
}
const seconds = Math.round((performance.now() - startedAt) / 1000);
const rows = [...sums].map(([name, sum]) => [name, ...Object.values(sum)].map(String));
say(
  table(
    ["asked over", "turns", "client deaths", "connections", "broken", "cut", "failed, and said so", "stalled"],
    rows,
  ),
);
const turns = [...sums.values()].reduce((sum, each) => sum + each.turns, 0);
say(`${turns} turns, ${total.deaths} deaths of the gateway, ${seconds} s, CRASH_SEED=${seed}`);
say(total.broken === 0 ? "no promise was broken" : `${total.broken} promises broken`);
if (total.stalled > 0)
  say(`${total.stalled} turns stalled: nothing moved for ${patienceMs / 1000} s; that says nothing of losses`);
if (total.failed > 0) say(`${total.failed} turns ended as failed, and said so`);
process.exitCode = total.broken > 0 ? 1 : total.stalled + total.failed > 0 ? 2 : 0;

async function inAllWorlds(plans: readonly Plan[]): Promise<void> {
  total.plans = plans.length;
  const queues = new Map(backends.map((name) => [name, plans.filter(({ backend }) => backend === name).values()]));
  await Promise.all(
    worlds.map(async ({ backend, world }) => {
      for (const plan of queues.get(backend) ?? []) count(await world.run(batchOf(plan)), plan);
    }),
  );
}

function batchOf(plan: Plan) {
  return { ...plan, random, clientDeaths: 3 };
}

function fate(backend: UpstreamName): Fate {
  const luck = random();
  const rpcs = callsOf[backend].filter((name) => !gatewaysAlone || name !== "session/load");
  const rpc = rpcs[Math.floor(random() * rpcs.length)] ?? callsOf[backend][0];
  const most = rpc === "session/load" ? 5 : batchSize; // that one is called after an agent's death only
  const nth = 1 + Math.floor(random() * most);
  if (backend === "ACP" && luck < 0.3 && !gatewaysAlone)
    return { kind: random() < 0.5 ? "agent" : "host", rpc, nth, alone: luck < 0.2 };
  const signal = random() < 0.5 ? ({ signal: "SIGTERM" } as const) : {};
  if (luck < 0.5 && !gatewaysAlone) {
    const when = random() < 0.5 ? "before" : "after";
    return { kind: "write", when, write: 1 + Math.floor(random() * batchSize * 20) };
  }
  if (luck < 0.75) return { kind: "call", rpc, nth, ...signal };
  return { kind: "time", afterMs: Math.floor(random() * 3_000), ...signal };
}

function count({ turns, deaths, broken }: Outcome, { backend, fates }: Plan): void {
  total.done++;
  total.deaths += deaths;
  total.broken += broken.length;
  const names = new Set(turns.map(({ client }) => client));
  const what = names.size === 1 ? [...names].join() : `${names.size} kinds of clients`;
  say(
    `${total.done}/${total.plans} ${backend}, ${what}, ${JSON.stringify(fates)}: ${turns.length} turns, ${deaths} deaths`,
  );
  for (const each of broken) say(`  BROKEN: ${each}`);
  for (const turn of turns) {
    const kind = `${backend}, ${turn.client}`;
    const sum = sums.get(kind) ?? {
      turns: 0,
      clientDeaths: 0,
      connections: 0,
      broken: 0,
      cut: 0,
      failed: 0,
      stalled: 0,
    };
    sum.turns++;
    sum.clientDeaths += turn.clientDeaths;
    sum.connections += turn.connections;
    sum.broken += turn.broken.length;
    if (turn.cut !== undefined) sum.cut++;
    total.broken += turn.broken.length;
    for (const each of turn.broken) say(`  BROKEN: ${turn.name} (${turn.client}): ${each}`);
    if (turn.failed !== undefined) {
      sum.failed++;
      total.failed++;
      say(`  FAILED: ${turn.name} (${turn.client}): ${turn.failed}`);
    }
    if (turn.stalled !== undefined) {
      sum.stalled++;
      total.stalled++;
      say(`  STALLED: ${turn.name} (${turn.client}): ${turn.stalled}`);
    }
    sums.set(kind, sum);
  }
}
