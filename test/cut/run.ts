import { tierNames } from "../../src/gateway/streams/raw-client.fake.ts";
import { say, table } from "../support/long-suite.ts";
import { type UpstreamName, upstreamNames } from "../support/upstream.ts";
import { cutTierDown, cutTierUp } from "./cut-tiers.ts";
import { CutWorld } from "./cut-world.ts";
import { everyByte, type Places } from "./places.ts";
import { surfaces } from "./surfaces.ts";

/**
 * `npm test -- search cut`: cuts the connection between client and gateway after every byte of a streamed answer and of its request,
 * by FIN and by RST, in every dialect that streams events and every tier of the idempotent protocol, and holds what the client
 * has at the end against the uncut stream. Then the same over ACP after every 23rd byte: how a connection is cut does not depend on the
 * backend, and how an answer grows does (`CUT_ACP_STEP`; 0 leaves it out). Exits 1 if any differs. `CUT_STEP` cuts after every so many bytes only;
 * `CUT_PART=2/4` makes the second of four parts, each with other bytes; `CUT_ONLY` picks exchanges by a part of their
 * names, as a run that was broken off is gone on with; `CUT_LIST=1` lists them.
 */
const step = Number(process.env["CUT_STEP"] ?? "1");
const [, nth = "1", parts = "1"] = /^(\d+)\/(\d+)$/.exec(process.env["CUT_PART"] ?? "") ?? [];
if (Number(nth) < 1 || Number(nth) > Number(parts)) throw new Error(`${nth}/${parts} is no part; give 1/4 to 4/4.`);
const only = process.env["CUT_ONLY"] ?? "";
const liveTurns = Math.ceil(40 / Number(parts));

let name = "";
let saidAt = 0;
const places = everyByte(step * Number(parts), step * (Number(nth) - 1), (afterBytes, of) => {
  if (performance.now() - saidAt < 10_000) return;
  saidAt = performance.now();
  say(`  ${name}: byte ${afterBytes} of ${of}`);
});

const acpStep = Number(process.env["CUT_ACP_STEP"] ?? "23");
const somePlaces = everyByte(Math.max(1, acpStep) * Number(parts), step * (Number(nth) - 1));

type Exchange = readonly [name: string, cut: (world: CutWorld, broken: string[]) => Promise<number>];

function exchangesAt(places: Places): readonly Exchange[] {
  return [
    ...surfaces.flatMap((surface): readonly Exchange[] => [
      [`${surface.name}, a response`, (world, broken) => world.cutResponses(surface, places, broken)],
      [`${surface.name}, a live one`, (world, broken) => world.cutLive(surface, liveTurns, broken)],
      [`${surface.name}, a request`, (world, broken) => world.cutRequests(surface, places, broken)],
    ]),
    ...surfaces
      .slice(0, 1)
      .map(
        (surface): Exchange => ["/v1/turns/{id}/events", (world, broken) => world.cutFollower(surface, places, broken)],
      ),
    ...tierNames.flatMap((tier): readonly Exchange[] => [
      [`stream protocol, ${tier}, down`, (world, broken) => cutTierDown(world, tier, places, broken)],
      [`stream protocol, ${tier}, up`, (world, broken) => cutTierUp(world, tier, places, broken)],
    ]),
  ];
}

/** Over which backend each is cut, and its name. */
const exchanges = upstreamNames.flatMap((backend) =>
  backend === "ACP" && acpStep === 0
    ? []
    : exchangesAt(backend === "ACP" ? somePlaces : places).map(
        ([each, cut]) => [backend, `${backend}, ${each}`, cut] as const,
      ),
);

const rows: string[][] = [];
const wanted = exchanges.filter(([, each]) => each.includes(only));
if (process.env["CUT_LIST"] === "1") for (const [, each] of wanted) say(each);
else await cutAll();

async function cutAll(): Promise<void> {
  const startedAt = performance.now();
  let [cuts, faults] = [0, 0];
  await using worlds = new AsyncDisposableStack();
  const opened = new Map<UpstreamName, CutWorld>();
  for (const [backend, each, cut] of wanted) {
    const world = opened.get(backend) ?? worlds.use(await CutWorld.open(backend));
    opened.set(backend, world);
    name = each;
    const beganAt = performance.now();
    const broken: string[] = [];
    const made = await cut(world, broken);
    const seconds = Math.round((performance.now() - beganAt) / 1_000);
    for (const what of broken.slice(0, 50)) say(`  BROKEN: ${what}`);
    say(`${each}: ${made} cuts, ${broken.length} promises broken, ${seconds} s`);
    rows.push([each, ...[made, broken.length, seconds].map(String)]);
    cuts += made;
    faults += broken.length;
  }
  say(table(["exchange", "cuts", "broken", "s"], rows));
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  say(`every ${step}. byte, part ${nth}/${parts}: ${cuts} cuts, ${seconds} s, ${faults} promises broken`);
  if (faults > 0) process.exitCode = 1;
}
