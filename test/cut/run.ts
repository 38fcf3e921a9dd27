import { tierNames } from "../../src/gateway/idempotent/raw-client.fake.ts";
import { cutTierDown, cutTierUp } from "./cut-tiers.ts";
import { CutWorld } from "./cut-world.ts";
import { surfaces } from "./surfaces.ts";

/**
 * `npm run test:cut`: cuts the connection between client and gateway after every byte of a streamed answer and of its request,
 * by FIN and by RST, in every dialect that streams events and every tier of the idempotent protocol, and holds what the client
 * has at the end against the uncut stream. Exits 1 if any differs. `CUT_STEP` cuts after every so many bytes only.
 */
const step = Number(process.env["CUT_STEP"] ?? "1");
const broken: string[] = [];
const startedAt = performance.now();
let cuts = 0;
await using world = await CutWorld.open();
for (const surface of surfaces) {
  const responses = await world.cutResponses(surface, step, broken);
  const live = await world.cutLive(surface, 40, broken);
  const requests = await world.cutRequests(surface, step, broken);
  cuts += responses + live + requests;
  say(`${surface.name}: ${responses} cuts of a response, ${live} of a live one, ${requests} of a request`);
}
const [first] = surfaces;
const followed = first === undefined ? 0 : await world.cutFollower(first, step, broken);
cuts += followed;
say(`/v1/turns/{id}/events: ${followed} cuts of a response`);
for (const tier of tierNames) {
  const down = await cutTierDown(world, tier, step, broken);
  const up = await cutTierUp(world, tier, step, broken);
  cuts += down + up;
  say(`idempotent protocol, ${tier}: ${down} cuts of what comes down, ${up} of what goes up`);
}
for (const what of broken.slice(0, 50)) say(`  BROKEN: ${what}`);
say(`${cuts} cuts, ${Math.round((performance.now() - startedAt) / 1000)} s: ${broken.length} promises broken`);
if (broken.length > 0) process.exitCode = 1;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
