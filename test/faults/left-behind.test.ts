import process from "node:process";
import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { agentLoop, chatLoop } from "../support/tool-loop.ts";
import { ask, collect, gateway, openai, patience, simulator, world } from "../support/world.ts";

test("what a killed gateway leaves in the IDE is stopped and archived by the next one, even where nothing else remembers it", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, turn: { rate: 50, size: 100_000 } });
  const first = await gateway({ home, args: ["--store", "memory"] });
  const stream = await openai(first).chat.completions.create({ ...ask("write for ever"), stream: true });
  await ide.until(({ messages }) => messages.length === 1, patience());
  await first.kill();
  await expect(collect(stream)).rejects.toThrow(/terminated|closed|reset/i);

  await gateway({ home });
  const report = await ide.until(({ cascades }) => cascades.every(({ archived }) => archived), patience());
  expect(report.cancels).toEqual(report.cascades.map(({ cascadeId }) => cascadeId));
  expect(report.messages).toHaveLength(1);
});

test("what an IDE does not archive at the end of an answer is archived once it does", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home });
  await ide.setFaults([{ rpc: "ArchiveCascadeTrajectory", times: 1, hang: true }]);
  const served = await gateway({ home, args: ["--continuity", "off"] });
  const answer = await openai(served).chat.completions.create(ask("hello"));
  expect(answer.choices[0]?.finish_reason).toBe("stop");
  const report = await ide.until(({ cascades }) => cascades.every(({ archived }) => archived), patience());
  expect(report.messages).toHaveLength(1);
});

test("the sessions of an agent that died are deleted, once their conversations went on elsewhere", async () => {
  const { ide, served } = await world({ simulator: { profile: "devin-3", turn: { rate: "instant" } } });
  const { model, tool, question } = agentLoop;
  const asked = [0, 1, 2].map((n) => ({ role: "user", content: `${question} ${n}` }));
  const begun = await Promise.all(asked.map((each) => chatLoop.ask(served, model, [each], tool)));
  const dead = new Set(ide.agentReport().prompts.map(({ sessionId }) => sessionId));
  for (const { pid, running } of ide.agentReport().processes) if (running) process.kill(pid, "SIGKILL");
  for (const [n, { calls, messages }] of begun.entries()) {
    const results = chatLoop.results(calls.map(({ id }) => ({ id, text: `r${n}` })));
    await chatLoop.ask(served, model, [asked[n] ?? {}, ...messages, ...results], tool);
  }
  expect(dead.size).toBe(3);
  await ide.untilAgent(({ deletes }) => [...dead].every((id) => deletes.includes(id)), patience());
  expect(ide.prompts()).toHaveLength(6);
});
