import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { generator, say } from "../support/long-suite.ts";
import { type Asked, ask } from "./asking.ts";
import { serverPrograms } from "./redis-node.ts";
import { SharedWorld } from "./shared-world.ts";

/**
 * `npm test -- search shared`: three gateways behind a TCP balancer share one Redis server, while they are killed, stand still and lose the
 * server, and while the server is killed. Exits 1 if an answer is lost or wrong, or a prompt was sent twice. Runs again with
 * `valkey-server` where that is installed. `--short` (each misfortune once; so does CI), `--rounds` (10), `--seed`, `--only kill,pause,...`.
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    short: { type: "boolean", default: process.env["CI"] !== undefined },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    only: { type: "string", default: "kill,pause,partition,restart" },
    verbose: { type: "boolean", default: false },
  },
});
const atOnce = 10;
const patienceMs = 180_000;
const kinds = ["kill", "pause", "partition", "restart"].filter((kind) => options.only.split(",").includes(kind));
const rounds = options.short ? 1 : Number(options.rounds);

if (serverPrograms.length === 0) throw new Error("Install redis-server or valkey-server, and put it on PATH.");
for (const program of serverPrograms) {
  const folder = mkdtempSync(join(tmpdir(), "millrace-shared-"));
  mkdirSync(folder, { recursive: true });
  try {
    await suffer(program, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function suffer(program: string, folder: string): Promise<void> {
  const random = generator(Number(options.seed));
  await using world = await SharedWorld.open(program, folder);
  const answers: Asked[] = [];
  const lost: string[] = [];
  const names: string[] = [];
  const end = { reached: false };
  const worker = async () => {
    while (!end.reached) {
      const name = `shared-${names.length}-end`;
      names.push(name);
      const text = answerOf(name);
      try {
        const asked = await ask(world.url, world.key, { name, text }, AbortSignal.timeout(patienceMs));
        answers.push(asked);
        if (asked.failure !== undefined) lost.push(`${name} failed: ${asked.failure}`);
        else if (asked.text !== text) lost.push(`${name} got ${asked.text.length} of ${text.length} characters`);
        else if (asked.turns.length > 1) lost.push(`${name} was ${asked.turns.length} turns`);
      } catch (error) {
        lost.push(`${name}: ${String(error)}`);
      }
    }
  };
  const workers = Array.from({ length: atOnce }, worker);
  for (let round = 0; round < rounds; round++) {
    for (const kind of kinds) {
      const nth = Math.floor(random() * world.members);
      say(`${program}, round ${round + 1}: ${kind} ${kind === "restart" ? "of the server" : `gateway ${nth + 1}`}`);
      if (kind === "kill") await world.kill(nth);
      else if (kind === "pause") await world.pause(nth);
      else if (kind === "partition") await world.partition(nth);
      else await world.restartStore();
    }
  }
  end.reached = true;
  await Promise.all(workers);
  const prompts = await world.prompts(names);
  const twice = [...prompts].filter(([, count]) => count > 1).map(([name, count]) => `${name}: ${count} prompts`);
  const reconnected = answers.filter(({ connections }) => connections > 1).length;
  say(
    `${program}: ${answers.length} turns, ${reconnected} over several connections, ${lost.length} lost, ${twice.length} prompted twice; seed ${options.seed}`,
  );
  for (const each of [...lost, ...twice]) say(`BROKEN: ${each}`);
  if (options.verbose) say(world.logs());
  if (lost.length + twice.length > 0) process.exitCode = 1;
}

/** An answer of some seconds that no other turn has. */
function answerOf(name: string): string {
  return Array.from({ length: 40 }, (_, i) => `${name} says word ${i};`).join(" ");
}
