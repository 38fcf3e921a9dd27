import { rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Simulator } from "../../simulator/index.ts";
import { lookAtHosts } from "../../src/backends/acp/host/hosts.ts";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { rowsOf } from "../support/tables.ts";
import { agentLoop, bash } from "../support/tool-loop.ts";
import { gateway, patience, patienceMs, simulator } from "../support/world.ts";

/* What happens to everybody while a tool of a loop runs costs no text and no second prompt, unless it ends the agent. */

interface Machine {
  readonly home: string;
  readonly ide: Simulator;
  current: GatewayProcess;
  /** How often the client found no gateway. */
  inVain: number;
}

interface OrderlyEvent {
  readonly befall: (machine: Machine) => Promise<void>;
  /** Another gateway has to be started. */
  readonly endsGateway: boolean;
  /** The prompt that waits for results is lost. */
  readonly endsAgent: boolean;
}

const events: Readonly<Record<string, OrderlyEvent>> = {
  "the folders `run` and `logs` are removed": {
    endsGateway: false,
    endsAgent: false,
    befall({ home }) {
      for (const name of ["run", "logs"]) rmSync(join(home, ".millrace", name), { recursive: true, force: true });
      return Promise.resolve();
    },
  },
  "`stop`": {
    endsGateway: true,
    endsAgent: false,
    async befall({ home }) {
      expect((await millrace(["stop"], { home })).code).toBe(0);
    },
  },
  "`stop --agents`": {
    endsGateway: true,
    endsAgent: true,
    async befall({ home }) {
      const { code, stdout } = await millrace(["stop", "--agents"], { home });
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^Ended: devin .*\n.*waited for results/m)]);
    },
  },
  "the user logs out": {
    endsGateway: true,
    endsAgent: true,
    async befall({ home, ide, current }) {
      const hosts = (await lookAtHosts(join(home, ".millrace/agents"))).map(({ hostPid }) => hostPid);
      const agents = ide.agentReport().processes.flatMap(({ pid, running }) => (running ? [pid] : []));
      for (const pid of [current.pid, ...hosts, ...agents]) {
        try {
          process.kill(pid, "SIGTERM");
        } catch {
          // it ended with the one before
        }
      }
      await ide.restart();
    },
  },
};

type Message = Readonly<Record<string, unknown>>;

/** One answer, as a client gets it that repeats its request until it has the whole; the error's code, where there is one. */
async function answered(machine: Machine, messages: readonly Message[], key: string | undefined) {
  const body = JSON.stringify({ model: agentLoop.model, messages, tools: [bash] });
  const signal = patience();
  for (;;) {
    const { url, key: bearer } = machine.current;
    const headers = {
      authorization: `Bearer ${bearer}`,
      "content-type": "application/json",
      ...(key === undefined ? {} : { "idempotency-key": key }),
    };
    try {
      const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body, signal });
      const reply = (await response.json()) as {
        readonly choices?: readonly { readonly message: Message }[];
        readonly error?: { readonly code: string };
      };
      if (response.status !== 503) return reply.choices?.[0]?.message ?? reply.error?.code ?? "";
    } catch {
      signal.throwIfAborted(); // no gateway listens now
      machine.inVain++;
    }
    await wait(200); // as clients do between two tries
  }
}

/** What a client gets that goes through the whole loop, and meets the event while its first call runs. */
async function loop(machine: Machine, { befall, endsGateway }: OrderlyEvent, isKeyed: boolean) {
  const messages: Message[] = [{ role: "user", content: agentLoop.question }];
  let results = 0;
  for (let round = 0; ; round++) {
    if (round === 1) await befall(machine);
    const answer = answered(machine, messages, isKeyed ? `round ${round}` : undefined);
    if (round === 1 && endsGateway) {
      while (machine.inVain === 0) await wait(100);
      machine.current = await gateway({ home: machine.home });
    }
    const message = await answer;
    if (typeof message === "string") return message;
    const calls = (message["tool_calls"] ?? []) as readonly { readonly id: string }[];
    if (calls.length === 0) return message["content"];
    messages.push(message, ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: `r${++results}` })));
  }
}

describe.runIf(process.platform !== "win32").each(rowsOf(Object.entries(events)))("%s", (_, event) => {
  test.each([
    ["with keys", true],
    ["without keys", false],
  ])("%s", { timeout: 2 * patienceMs }, async (_name, isKeyed) => {
    const home = temporaryHome();
    const ide = await simulator({ home, profile: "devin-3", turn: { rate: "instant" } });
    const machine: Machine = { home, ide, current: await gateway({ home }), inVain: 0 };
    expect(await loop(machine, event, isKeyed)).toBe(agentLoop.text);
    expect(ide.prompts()).toHaveLength(event.endsAgent ? 2 : 1);
  });
});
