import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Simulator } from "../../simulator/index.ts";
import { lookAtHosts } from "../../src/backends/acp/host/hosts.ts";
import { processRuns } from "../../src/base/node/process-exists.ts";
import { readGatewayFile } from "../../src/cli/gateway-process/gateway-file.ts";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { askUntilWhole } from "../support/repeating-client.ts";
import { rowsOf } from "../support/tables.ts";
import { hasTerminals, onTerminal } from "../support/terminal.ts";
import { gateway, patienceMs, simulator } from "../support/world.ts";

/* What happens to everybody in the middle of an answer costs no text and no second prompt, also where each event comes at a bad moment. */

const answer = { rate: 4_000, size: 1_500 };
/** Longer than one program waits for an answer of another one. */
const suspendedMs = 12_000;

interface Machine {
  readonly home: string;
  readonly ide: Simulator;
  current: Pick<GatewayProcess, "url" | "key" | "pid" | "stop" | "ended">;
  /** Starts the next gateway. */
  next(): Promise<void>;
  /** Resolves once the client has the beginning of the answer again, from the gateway that runs now. */
  rejoined(): Promise<void>;
  /** Lets the model write on. */
  release(): Promise<void>;
}

/** The processes of one part of the machine. */
const parts = {
  gateway: async ({ current }: Machine) => [current.pid],
  host: async ({ home }: Machine) => (await lookAtHosts(join(home, ".millrace/agents"))).map(({ hostPid }) => hostPid),
  upstream: async ({ ide }: Machine) => [
    ide.pid,
    ...(ide.agentPath === undefined ? [] : ide.agentReport().processes)
      .filter(({ running }) => running)
      .map(({ pid }) => pid),
  ],
};

const suspended =
  (...names: readonly (keyof typeof parts)[]) =>
  async (machine: Machine) => {
    const pids = (await Promise.all(names.map((name) => parts[name](machine)))).flat();
    for (const pid of pids) process.kill(pid, "SIGSTOP");
    await wait(suspendedMs);
    for (const pid of pids) process.kill(pid, "SIGCONT");
    await machine.release();
  };

const events: Readonly<Record<string, (machine: Machine) => Promise<void>>> = {
  "the gateway is suspended": suspended("gateway"),
  "the host of the agent is suspended": suspended("host"),
  "the IDE and its agent are suspended": suspended("upstream"),
  "the machine sleeps": suspended("gateway", "host", "upstream"),
  "the folder of the logs can be written no more": async (machine) => {
    const logs = join(machine.home, ".millrace/logs");
    rmSync(logs, { recursive: true, force: true });
    writeFileSync(logs, "");
    await machine.release();
  },
  "the folders `run` and `logs` are removed": async (machine) => {
    for (const name of ["run", "logs"]) rmSync(join(machine.home, ".millrace", name), { recursive: true, force: true });
    await machine.release();
  },
  "the gateway is restarted twenty times": async (machine) => {
    for (let times = 0; times < 20; times++) {
      await machine.current.stop();
      await machine.next();
    }
    await machine.release();
  },
  ...(hasTerminals && {
    "the gateway runs on a terminal, which is closed": async (machine) => {
      const { home, current } = machine;
      await current.stop();
      const terminal = onTerminal(["serve", "--port", "0"], { home });
      await terminal.shows(/http:\/\/127/);
      const { url = "", pid } = readGatewayFile(join(home, ".millrace/gateway.json")) ?? {};
      machine.current = { ...current, url };
      await machine.rejoined();
      await terminal.close();
      while (processRuns(pid ?? 0)) await wait(100);
      await machine.next();
      await machine.release();
    },
  }),
  "the gateway is started while it stops, and stopped while it starts": async (machine) => {
    const { home } = machine;
    for (let times = 0; times < 2; times++) {
      await Promise.all([machine.current.stop(), machine.next()]);
      await Promise.all([millrace(["stop"], { home }), machine.current.ended]);
      await Promise.all([machine.next().catch(() => {}), millrace(["stop"], { home })]); // it may not get as far as its port
      await millrace(["stop"], { home });
      await machine.next();
    }
    await machine.release();
  },
};

/** The whole answer. Throws where an error ended it. */
async function asked(machine: Machine, model: string, begun: (url: string) => void): Promise<string> {
  const body = { model, messages: [{ role: "user", content: "write" }] };
  const answered = await askUntilWhole(
    () => machine.current,
    { body, idempotencyKey: "once" },
    (read, url) => {
      if (read.length > 2_000) begun(url);
    },
  );
  if ("failed" in answered) throw new Error(answered.read.slice(-800));
  return answered.text;
}

describe.runIf(process.platform !== "win32").each([
  { name: "Cascade", profile: undefined, model: "claude-sonnet-4.6" },
  { name: "ACP", profile: "devin-3", model: "swe-2:high" },
] as const)("over $name, in the middle of an answer", ({ profile, model }) => {
  test.each(rowsOf(Object.keys(events)))("%s", { timeout: 2 * patienceMs }, async (event) => {
    const home = temporaryHome();
    const ide = await simulator({ home, turn: { ...answer, holdAfter: 700 }, ...(profile && { profile }) });
    const readAt = new Set<string>();
    const machine: Machine = {
      home,
      ide,
      current: await gateway({ home }),
      async next() {
        machine.current = await gateway({ home });
      },
      async rejoined() {
        while (!readAt.has(machine.current.url)) await wait(100);
      },
      async release() {
        await ide.setTurn(answer);
        await ide.release();
      },
    };
    const asking = asked(machine, model, (url) => readAt.add(url));
    await Promise.race([machine.rejoined(), asking]);
    await events[event]?.(machine);
    expect(await asking).toHaveLength(answer.size);
    const prompts = profile === undefined ? (await ide.report()).messages : ide.prompts();
    expect(prompts).toHaveLength(1);
  });
});
