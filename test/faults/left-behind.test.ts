import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { ask, collect, gateway, openai, patience, simulator } from "../support/world.ts";

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
