import { rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Simulator } from "../../simulator/index.ts";
import { lookAtHosts } from "../../src/backends/acp/host/hosts.ts";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { agentLoop, bash } from "../support/tool-loop.ts";
import { gateway, patience, patienceMs, simulator } from "../support/world.ts";

/* What happens to everybody in the middle of a tool loop costs no text and no second prompt, unless it ends the agent. */

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
  /** A prompt that waits for results is lost, and an answer fails by name. */
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
      expect([code, stdout]).toEqual([
        0,
        expect.stringMatching(/^Ended: devin .*\n.*(?:answers are cut: turn_|waited for results)/m),
      ]);
    },
  },
  "the user logs out": {
    endsGateway: true,
    endsAgent: true,
    async befall({ home, ide, current }) {
      const hosts = (await lookAtHosts(join(home, ".millrace/agents"))).map(({ hostPid }) => hostPid);
      const agents = ide.agentReport().processes.flatMap(({ pid, running }) => (running ? [pid] : []));
      for (const pid of [current.pid, ...hosts, ...agents]) process.kill(pid, "SIGTERM");
      await ide.restart();
    },
  },
};

const moments: Readonly<Record<string, { readonly round: number; readonly isParked: boolean }>> = {
  "before the first call": { round: 0, isParked: false },
  "while a call waits for its result": { round: 1, isParked: true },
  "between two rounds": { round: 1, isParked: false },
  "after the last result": { round: 2, isParked: false },
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

/** Resolves once a turn runs, as the gateway lists it. */
async function untilOneRuns({ current: { url, key } }: Machine): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  for (;;) {
    const response = await fetch(`${url}/v1/turns?open=true`, { headers, signal: patience() });
    if (((await response.json()) as { readonly data: readonly object[] }).data.length > 0) return;
    await wait(100);
  }
}

/** What a client gets that goes through the whole loop, and meets the event once. */
async function loop(machine: Machine, asked: { readonly at: string; readonly event: string; readonly keyed: boolean }) {
  const [moment, event] = [moments[asked.at], events[asked.event]];
  const messages: Message[] = [
    {
      role: "user",
      content: `[[sim: think-ms=${event?.endsAgent ? 4_000 : 1_500} thinking=20]] ${agentLoop.question}`,
    },
  ];
  const next = async () => {
    if (event?.endsGateway !== true) return;
    while (machine.inVain === 0) await wait(100);
    machine.current = await gateway({ home: machine.home });
  };
  let results = 0;
  for (let round = 0; ; round++) {
    const isNow = round === moment?.round;
    if (isNow && moment.isParked) await event?.befall(machine);
    const answer = answered(machine, messages, asked.keyed ? `round ${round}` : undefined);
    if (isNow && !moment.isParked) {
      await machine.ide.untilAgent(({ prompts }) => prompts.length === 1, patience());
      await untilOneRuns(machine);
      await event?.befall(machine);
    }
    if (isNow) await next();
    const message = await answer;
    if (typeof message === "string") return message;
    const calls = (message["tool_calls"] ?? []) as readonly { readonly id: string }[];
    if (calls.length === 0) return message["content"];
    messages.push(message, ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: `r${++results}` })));
  }
}

describe.runIf(process.platform !== "win32").each(Object.keys(events))("%s", (event) => {
  const rows = Object.keys(moments).map((at, nth) => ({ at, keyed: nth % 2 === 0 }));
  test.each(rows)("$at", { timeout: 2 * patienceMs }, async ({ at, keyed }) => {
    const home = temporaryHome();
    const ide = await simulator({ home, profile: "devin-3", turn: { rate: "instant" } });
    const machine: Machine = { home, ide, current: await gateway({ home }), inVain: 0 };
    const got = await loop(machine, { at, event, keyed });
    const isCut = events[event]?.endsAgent === true;
    const isParked = moments[at]?.isParked === true;
    expect(got).toBe(isCut && !isParked ? "upstream_failed" : agentLoop.text);
    expect(ide.prompts()).toHaveLength(isCut && isParked ? 2 : 1);
  });
});
