import { readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Simulator } from "../../simulator/index.ts";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { askUntilWhole } from "../support/repeating-client.ts";
import { rowsOf } from "../support/tables.ts";
import { gateway, patienceMs, simulator } from "../support/world.ts";

/* Twenty clients are in the middle of their answers when something happens to all of them: no answer is lost, and none is asked twice. */

const answer = { rate: 4_000, size: 1_500 };
const awayMs = 3_000;
const dayMs = 86_400_000;
const sent = ["GetCascadeTrajectorySteps", "GetCascadeTrajectory", "GetCascadeTranscriptForTrajectoryId"];

/** Loaded into a gateway: its wall clock is as far off as a file says, at each moment. */
const shifted = `import { readFileSync } from "node:fs";
const now = Date.now;
Date.now = () => now() + Number(readFileSync(process.env.MILLRACE_TEST_CLOCK, "utf8"));`;

interface Machine {
  readonly home: string;
  readonly ide: Simulator;
  readonly clock: string;
  current: GatewayProcess;
  next(): Promise<void>;
}

interface CommonEvent {
  readonly befall: (machine: Machine) => Promise<unknown>;
  /** What the model still writes is lost, and each client is told so. */
  readonly losesRest?: true;
}

/** Moves all files of a folder whose names pass away, and back after some seconds. */
async function away(folder: string, isMoved: (name: string) => boolean) {
  const paths = readdirSync(folder)
    .filter(isMoved)
    .map((name) => join(folder, name));
  for (const path of paths) renameSync(path, `${path}-away`);
  await wait(awayMs);
  for (const path of paths) renameSync(`${path}-away`, path);
}

const clockIsSet = (byMs: number): CommonEvent => ({
  async befall({ clock }) {
    writeFileSync(clock, String(byMs));
    await wait(awayMs);
  },
});

const events: Readonly<Record<string, CommonEvent>> = {
  "the gateway stops, and the next one starts": {
    async befall(machine) {
      await machine.current.stop();
      await machine.next();
    },
  },
  "the gateway is killed, and the next one starts": {
    async befall(machine) {
      await machine.current.kill();
      await machine.next();
    },
  },
  "the IDE restarts": { befall: ({ ide }) => ide.restart(), losesRest: true },
  "the user signs out of the IDE, and in again": {
    async befall({ ide }) {
      const error = { code: "unauthenticated", message: "sign in" } as const;
      await ide.setFaults(sent.map((rpc) => ({ rpc, error })));
      await wait(awayMs);
      await ide.setFaults([]);
    },
  },
  "the log is moved away, and back": {
    befall: ({ home }) => away(join(home, ".millrace"), (name) => name.startsWith("turns.db")),
  },
  "the home is moved away, and back": { befall: ({ home }) => away(home, (name) => name === ".millrace") },
  "the gateway is suspended": {
    async befall({ current: { pid } }) {
      process.kill(pid, "SIGSTOP");
      await wait(awayMs);
      process.kill(pid, "SIGCONT");
    },
  },
  "the clock is set a day forward": clockIsSet(dayMs),
  "the clock is set a day back": clockIsSet(-dayMs),
  "the key is replaced": {
    async befall(machine) {
      const { code, stdout } = await millrace(["keys", "--new", "--value"], machine);
      expect(code).toBe(0);
      machine.current = { ...machine.current, key: stdout.trim() };
    },
  },
};

/** The whole answer of one client, or the code of the error that ended it. */
async function asked(machine: Machine, number: number, begun: () => void): Promise<string> {
  const body = { model: "claude-sonnet-4.6", messages: [{ role: "user", content: `write for ${number}` }] };
  const answered = await askUntilWhole(
    () => machine.current,
    { body, idempotencyKey: `k${number}` },
    (read) => {
      if (/"content":"[^"]/.test(read)) begun();
    },
  );
  return "failed" in answered ? answered.failed : answered.text;
}

describe.runIf(process.platform !== "win32")("with twenty clients in the middle of their answers", () => {
  test.each(rowsOf(Object.entries(events)))("%s", { timeout: 2 * patienceMs }, async (_, { befall, losesRest }) => {
    const home = temporaryHome();
    const clock = join(home, "clock");
    writeFileSync(clock, "0");
    const env = {
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(shifted)}`,
      MILLRACE_TEST_CLOCK: clock,
    };
    const ide = await simulator({ home, turn: { ...answer, holdAfter: 700 } });
    const start = () => gateway({ home, env, args: ["--continuity", "off"] });
    const machine: Machine = {
      home,
      ide,
      clock,
      current: await start(),
      async next() {
        machine.current = await start();
      },
    };
    const begun = Array.from({ length: 20 }, () => Promise.withResolvers<void>());
    const asking = Promise.all(begun.map(({ resolve }, number) => asked(machine, number, resolve)));
    await Promise.race([Promise.all(begun.map(({ promise }) => promise)), asking]);
    expect((await ide.report()).messages).toHaveLength(20);
    const since = ide.starts;
    await befall(machine);
    await ide.setTurn(answer);
    await ide.release();
    const answers = await asking;
    for (const text of answers) {
      if (losesRest === true && text === "upstream_failed") continue;
      expect(text).toHaveLength(answer.size);
    }
    expect((await ide.report()).messages).toHaveLength(ide.starts === since ? 20 : 0); // since its start
  });
});
