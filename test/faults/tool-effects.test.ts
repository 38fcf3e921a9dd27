import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { StreamEvent } from "../../src/client/stream/stream-event.ts";
import { effectsIn, flat, type Names, receivedOf } from "../crash/stream-client.ts";
import { compileCache, type GatewayProcess } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { model, world } from "../support/world.ts";

const crash = join(import.meta.dirname, "../crash");
const answer = "one thing; and another; and a third; and that is all";
/** An application keeps its record in fewer steps than this, whatever the time does. */
const mostSteps = 80;
const atOnce = 6;

test("a client that is killed at any step of keeping its record runs its tool once at most, and has its whole answer (G13)", async () => {
  const { served, ide } = await world({ simulator: { plan: { unlimited: true } } });
  const folder = temporaryHome();
  const broken: string[] = [];
  let streams = 0;
  let deaths = 0;
  const die = async (name: string, dieAt: string) => {
    const own = join(folder, name);
    mkdirSync(own);
    streams++;
    const [code] = (await once(application(served, own, name, dieAt), "exit")) as [number | null];
    if (code === null) {
      deaths++;
      await once(application(served, own, name, "never:0"), "exit");
    }
    broken.push(...brokenIn(own).map((what) => `${dieAt}: ${what}`));
    return code === null;
  };
  for (const when of ["before", "after"]) {
    let isOver = false;
    for (let from = 1; !isOver && from < mostSteps; from += atOnce) {
      const steps = Array.from({ length: atOnce }, (_, at) => from + at);
      const died = await Promise.all(steps.map((step) => die(`effect-${when}-${step}-end`, `${when}:${step}`)));
      isOver = !died.includes(true);
    }
  }
  expect(broken).toEqual([]);
  expect(deaths).toBeGreaterThan(20);
  expect((await ide.report()).messages).toHaveLength(2 * streams); // to call, and to go on: each got its whole answer
}, 600_000);

/** One life of an application that asks and runs a tool whose effect is a line in a file. */
function application(
  { url, key }: Pick<GatewayProcess, "url" | "key">,
  folder: string,
  name: string,
  dieAt: string,
): ChildProcess {
  const args = [
    "--import",
    join(crash, "die-at-record.ts"),
    join(crash, "application.ts"),
    url,
    key,
    folder,
    name,
    answer,
    model,
  ];
  const env = { PATH: process.env["PATH"] ?? "", ...compileCache, MILLRACE_TEST_DIE_AT: dieAt };
  return spawn(process.execPath, args, { stdio: "ignore", env });
}

/** What its files say that it went through. */
function brokenIn(folder: string): readonly string[] {
  const journal = join(folder, "journal");
  const lines = existsSync(journal) ? readFileSync(journal, "utf8").split("\n").slice(0, -1) : [];
  const told = lines.map((line) => JSON.parse(line) as StreamEvent | ({ readonly type: "names" } & Names));
  const names = told.find((line) => line.type === "names");
  if (names === undefined) return ["its stream was never stored"];
  const events = told.flatMap((line) => (line.type === "names" ? [] : line));
  const { broken, text } = receivedOf(events, names, effectsIn(join(folder, "effects")));
  return flat(text) === flat(answer) ? broken : [...broken, `it got ${JSON.stringify(text)}`];
}
