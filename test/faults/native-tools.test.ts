import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { lookAtHosts } from "../../src/backends/acp/host/hosts.ts";
import { doorKinds } from "../../src/base/node/door.fake.ts";
import { defaultDoors } from "../../src/base/node/door.ts";
import { withLimits } from "../support/gateway-process.ts";
import { agentLoop, chatLoop } from "../support/tool-loop.ts";
import { gateway, patienceMs, world } from "../support/world.ts";

/* A loop of native tool calls outlives its gateway: the agent's host keeps the prompt that waits. */

const { model, tool, commands, text } = agentLoop;
const asked = { model, tool, question: agentLoop.question };

describe.each(doorKinds)("over $kind", ({ doors }) => {
  const program = doors === defaultDoors ? {} : withLimits(doors);
  const open = () => world({ ...program, simulator: { profile: "devin-3", turn: { rate: "instant" } } });

  it("a gateway killed before the agent calls its tools: the next one gets the calls of the same prompt, and goes on with it", async () => {
    const { home, ide, served } = await open();
    const question = { role: "user", content: `${asked.question} [[sim: first-ms=3000 think-ms=3000]]` };
    const lost = chatLoop.ask(served, model, [question], tool).catch(() => "lost");
    await ide.untilAgent(({ prompts }) => prompts.length === 1, AbortSignal.timeout(patienceMs));
    await served.kill();
    expect(await lost).toBe("lost");
    const agents = join(home, ".millrace", "agents");
    const areSockets = readdirSync(agents).map((name) => statSync(join(agents, name)).isSocket());
    expect(areSockets).toEqual([doors.pipes === undefined]);
    const next = await gateway({ home, ...program });
    const { calls, messages } = await chatLoop.ask(next, model, [question], tool);
    expect(calls.map(({ args }) => args)).toEqual(commands.slice(0, 2));
    const results = chatLoop.results(calls.map(({ id }, n) => ({ id, text: `r${n + 1}` })));
    const { calls: more } = await chatLoop.ask(next, model, [question, ...messages, ...results], tool);
    expect(more.map(({ args }) => args)).toEqual(commands.slice(2));
    expect(ide.prompts()).toHaveLength(1);
  });

  it("an agent killed while it waits for results: the whole history goes into one new prompt, with the tools as its own", async () => {
    const { ide, served } = await open();
    const question = { role: "user", content: asked.question };
    const first = await chatLoop.ask(served, model, [question], tool);
    for (const { pid, running } of ide.agentReport().processes) if (running) process.kill(pid, "SIGKILL");
    const results = chatLoop.results(first.calls.map(({ id }, n) => ({ id, text: `r${n + 1}` })));
    const { way } = await chatLoop.ask(served, model, [question, ...first.messages, ...results], tool);
    expect(way).toBe("native");
    expect(ide.prompts()).toHaveLength(2);
    expect(ide.prompts()[1]?.text).toContain(asked.question);
  });

  it.each(["killed", "stopped"] as const)(
    "a loop goes on after its gateway was %s between a call and its result, each time, and is one prompt",
    async (how) => {
      const { home, ide, served } = await open();
      let current = served;
      const next = async () => {
        await (how === "killed" ? current.kill() : current.stop());
        current = await gateway({ home, ...program });
      };
      const question = { role: "user", content: asked.question };
      const first = await chatLoop.ask(current, model, [question], tool);
      await next();
      const results = chatLoop.results(first.calls.map(({ id }, n) => ({ id, text: `r${n + 1}` })));
      const history = [question, ...first.messages, ...results];
      const second = await chatLoop.ask(current, model, history, tool);
      await next();
      const last = chatLoop.results(second.calls.map(({ id }) => ({ id, text: "r3" })));
      const third = await chatLoop.ask(current, model, [...history, ...second.messages, ...last], tool);
      expect(third.text).toBe(text);
      expect(ide.prompts()).toHaveLength(1);
      expect(ide.agentReport().cancels).toHaveLength(0);
    },
  );

  it.runIf(process.platform === "linux").each(["host", "relay"] as const)(
    "a loop whose gateway was killed waits for its %s, which is slow, and is one prompt",
    async (slow) => {
      const { home, ide, served } = await open();
      const question = { role: "user", content: asked.question };
      const first = await chatLoop.ask(served, model, [question], tool);
      const pids = slow === "host" ? await hostsOf(home) : relaysOf(home);
      expect(pids).toHaveLength(1);
      await served.kill();
      forgetKept(home);
      for (const pid of pids) process.kill(pid, "SIGSTOP");
      const next = await gateway({ home, ...program });
      const results = chatLoop.results(first.calls.map(({ id }, n) => ({ id, text: `r${n + 1}` })));
      const second = chatLoop.ask(next, model, [question, ...first.messages, ...results], tool);
      await Promise.race([second, wait(frozenMs)]);
      for (const pid of pids) process.kill(pid, "SIGCONT");
      expect((await second).calls.map(({ args }) => args)).toEqual(commands.slice(2));
      expect(ide.prompts()).toHaveLength(1);
    },
  );
});

/** The journal, as if the gateway had been killed before it noted that it keeps a conversation: after 10 s that is an orphan. */
function forgetKept(home: string): void {
  const journal = join(home, ".millrace", "cascades.jsonl");
  const lines = readFileSync(journal, "utf8").split("\n");
  writeFileSync(journal, lines.filter((line) => !line.startsWith('{"kept"')).join("\n"));
}

/** Longer than a gateway waits for one answer of a program that it finds. */
const frozenMs = 12_000;

async function hostsOf(home: string): Promise<readonly number[]> {
  return (await lookAtHosts(join(home, ".millrace", "agents"))).map(({ hostPid }) => hostPid);
}

/** The relays that agents of this home have started. */
function relaysOf(home: string): readonly number[] {
  const isRelay = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(`MILLRACE_RELAY_SOCKET=${home}`);
    } catch {
      return false; // it has ended, or is another user's
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && isRelay(name))
    .map(Number);
}
