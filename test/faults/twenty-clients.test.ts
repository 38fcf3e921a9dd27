import { readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { type BackendName, backends, type StandIn, standInFor } from "../matrix/stand-in.ts";
import {
  answerSize,
  type ClientPlace,
  inBackground,
  loopClients,
  type MixedClient,
  textClients,
} from "../matrix/twenty.ts";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
import { shiftedBy } from "../support/shifted-clock.ts";
import { mayMount, smallDisk } from "../support/small-disk.ts";
import { rowsOf } from "../support/tables.ts";
import { agentLoop } from "../support/tool-loop.ts";
import { gateway, patienceMs } from "../support/world.ts";

/* Twenty clients are in the middle of their answers when something happens to all of them: no answer is lost, and none is asked twice. */

const pace = { rate: 4_000, firstMs: 50, inputMs: 20, thinking: 0 };
const whole: unknown = expect.stringMatching(new RegExp(`^[^]{${answerSize}}$`));
const awayMs = 3_000;
const dayMs = 86_400_000;
const sent = ["GetCascadeTrajectorySteps", "GetCascadeTrajectory", "GetCascadeTranscriptForTrajectoryId"];
/** The programs of an earlier build, for the row that updates from it. */
const lastBuild = process.env["MILLRACE_TEST_LAST_BUILD"];

interface Machine extends ClientPlace {
  /** Of the user, and of Millrace. */
  readonly home: string;
  readonly folder: string;
  readonly standIn: StandIn;
  readonly backend: BackendName;
  readonly clock: string;
  current: GatewayProcess;
  isKeyReplaced?: boolean;
  /** Starts the next gateway, of another build where one is named. */
  next(bin?: string): Promise<void>;
  /** Lets the models write on. */
  readonly release: () => Promise<void>;
}

interface CommonEvent {
  readonly befall: (machine: Machine) => Promise<unknown>;
  /** Where what the models still write is lost, and each client is told so. */
  readonly losesRest?: readonly BackendName[];
  /** The build that runs before it. */
  readonly bin?: string;
  /** The clients have an issued key, which ends: open answers go on, and each later request is refused. */
  readonly endsKey?: true;
  /** The folder of Millrace, made for one test. */
  readonly place?: () => { readonly folder: string };
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

const disks = new Map<string, ReturnType<typeof smallDisk>>();

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
  ...(lastBuild && {
    "the gateway is updated, and set back": {
      bin: join(lastBuild, "bin.js"),
      async befall(machine: Machine) {
        await machine.current.stop();
        await machine.next();
        await wait(awayMs);
        await machine.current.stop();
        await machine.next(join(lastBuild, "bin.js"));
      },
    },
  }),
  "the IDE restarts": { befall: ({ standIn }) => standIn.restartIde(), losesRest: ["Cascade"] },
  "what answers is killed": { befall: ({ standIn }) => standIn.restart(), losesRest: backends },
  "the user signs out of the IDE, and in again": {
    async befall({ standIn: { ide }, backend }) {
      if (backend === "ACP") {
        const error = { code: -32_000, message: "Authentication required" };
        const methods = ["session/new", "session/load", "session/prompt", "session/set_config_option"];
        await ide.setAgent({ faults: methods.map((method) => ({ method, error })) });
      } else {
        const error = { code: "unauthenticated", message: "sign in" } as const;
        await ide.setFaults(sent.map((rpc) => ({ rpc, error })));
      }
      await wait(awayMs);
      await (backend === "ACP" ? ide.setAgent({ faults: [] }) : ide.setFaults([]));
    },
  },
  "the log is moved away, and back": { befall: ({ folder }) => away(folder, (name) => name.startsWith("turns.db")) },
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
  ...(mayMount && {
    "the disk is full for a while": {
      place() {
        const disk = smallDisk(64);
        disks.set(disk.folder, disk);
        return disk;
      },
      async befall({ folder, release }: Machine) {
        const disk = disks.get(join(folder, ".."));
        disk?.fill();
        await release();
        await wait(awayMs);
        disk?.free();
      },
    },
  }),
  "the key is replaced": {
    async befall(machine) {
      machine.isKeyReplaced = true;
      const { code, stdout } = await millrace(["keys", "--new", "--value"], machine);
      expect(code).toBe(0);
      machine.current = { ...machine.current, key: stdout.trim() };
    },
  },
  "their key is revoked": {
    endsKey: true,
    befall: async (machine) => expect((await millrace(["keys", "revoke", "clients"], machine)).code).toBe(0),
  },
};

const rows = Object.keys(events).flatMap((event) => backends.map((backend) => ({ event, backend })));

async function machineFor(backend: BackendName, { bin, place, endsKey }: CommonEvent): Promise<Machine> {
  const standIn = await standInFor(backend, { turn: pace });
  const { home } = standIn.ide;
  const folder = place === undefined ? join(home, ".millrace") : join(place().folder, "data");
  const clock = join(home, "clock");
  writeFileSync(clock, "0");
  const env = {
    ...shiftedBy(clock),
    MILLRACE_HOME: folder,
  };
  const start = (port: string, of?: string) =>
    gateway({ home, env, args: ["--port", port, "--max-turns", "50"], ...(of && { bin: of }) });
  const machine: Machine = {
    home,
    folder,
    standIn,
    backend,
    clock,
    current: await start("0", bin),
    model: standIn.model,
    async next(of) {
      machine.current = await start(new URL(machine.current.url).port, of);
    },
    async release() {
      await standIn.ide.setTurn(pace);
      await standIn.ide.release();
    },
  };
  if (endsKey) {
    const { stdout } = await millrace(["keys", "create", "clients"], { home, env });
    machine.current = { ...machine.current, key: stdout.trim() };
  }
  return machine;
}

/** Starts these clients. */
function started(clients: readonly MixedClient[], machine: Machine, struck: Promise<void>) {
  return clients.map((client, at) => {
    const mark = `${client.isLoop ? "loop" : "text"}-${at}-end`;
    const begun = Promise.withResolvers<void>();
    const outcome = client
      .ask(machine, mark, { begun: begun.resolve, struck })
      .catch((error: unknown) => ({ failed: String(error) }));
    return { client, mark, outcome, begun: Promise.race([begun.promise, outcome]) };
  });
}

const oneOrTwo: unknown = expect.toSatisfy((count: unknown) => count === 1 || count === 2);
const failedByName: unknown = { failed: expect.stringMatching(/upstream_failed|The IDE|The agent|no longer|ended/) };

const refused: unknown = { failed: expect.stringContaining("unauthenticated") };

test.runIf(process.platform !== "win32").each(rowsOf(rows))(
  "with twenty clients in the middle of their answers over $backend, $event",
  { timeout: 3 * patienceMs },
  async ({ event, backend }) => {
    const happening = events[event];
    if (happening === undefined) throw new Error("there is no such event");
    const machine = await machineFor(backend, happening);
    const { standIn } = machine;
    const struck = Promise.withResolvers<void>();
    const loops = started(loopClients, machine, struck.promise);
    await Promise.all(loops.map(({ begun }) => begun)); // before answers are held, which short ones are at their end
    await standIn.ide.setTurn({ ...pace, holdAfter: 700 });
    const clients = [...started(textClients, machine, struck.promise), ...loops];
    await Promise.all(clients.map(({ begun }) => begun));
    await expect.poll(async () => (await standIn.prompts()).length, { timeout: patienceMs }).toBe(clients.length);
    if (!happening.endsKey) struck.resolve();
    await happening.befall(machine);
    struck.resolve();
    await machine.release();
    const answers = await Promise.all(clients.map(({ outcome }) => outcome));
    const prompts = await standIn.prompts();
    const isLost = happening.losesRest?.includes(backend) === true;
    const found = clients.map(({ client: { how, isLoop }, mark }, at) => ({
      how,
      said: answers[at],
      prompts: isLoop ? undefined : prompts.filter((text) => text.includes(mark)).length,
    }));
    const expected = clients.map(({ client, client: { how, isLoop, isKeyed } }) => ({
      how,
      said:
        happening.endsKey && (isLoop || client === inBackground)
          ? refused
          : isLoop
            ? { text: agentLoop.text }
            : isLost && isKeyed
              ? failedByName
              : { text: whole },
      prompts: isLoop ? undefined : isLost && !isKeyed ? oneOrTwo : 1,
    }));
    expect(found).toEqual(expected);
    const ofLoops = prompts.filter((text) => !text.includes("text-")).length / loops.length;
    expect(ofLoops).toBe(happening.endsKey ? 1 : backend === "Cascade" ? 3 : isLost ? 2 : 1);
  },
);
