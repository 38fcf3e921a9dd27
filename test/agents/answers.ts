import { strict as assert } from "node:assert";
import { APIError } from "openai";
import { chatLoop, loopApis, runLoop } from "../support/tool-loop.ts";
import type { Bench } from "./bench.ts";
import { check } from "./check.ts";
import { clientTool } from "./ways.ts";

const ask = ({ asked }: Bench, content: string) => ({ model: asked, messages: [{ role: "user" as const, content }] });
const mayFail = (error: unknown) => assert(error instanceof APIError);

/** An agent answers, from one request of its model. The first start of an agent on a machine may take longer than a turn waits for it. */
export async function answersPlainly(bench: Bench): Promise<boolean> {
  const { name } = bench.owner;
  const question = `Please count to 5 for ${name}.`;
  return check(`${name}: a plain answer, although its owner's settings are not in force`, async () => {
    const create = async () =>
      (await bench.client().chat.completions.create(ask(bench, question))).choices[0]?.message.content;
    const answer = await create().catch((error: unknown) => {
      if (error instanceof APIError && error.status === 504) return create(); // no prompt was sent
      throw error;
    });
    assert.equal(answer, "1, 2, 3, 4, 5");
    assert.equal(bench.model.asked(question).length, 1);
  });
}

/** What its owner allowed it, a command and a server of his, does not happen. */
export async function actsNot(bench: Bench): Promise<boolean> {
  const { owner, place } = bench;
  const isTame = await check(
    `${owner.name}: a command that its owner allowed and a model asks for does not run`,
    async () => {
      const json = JSON.stringify(owner.input(place.mark("allowed-command")));
      await bench
        .client()
        .chat.completions.create(ask(bench, `Please use the tool ${owner.tool} with ${json} now`))
        .catch(mayFail);
      assert.equal(place.marks().includes("allowed-command"), false);
    },
  );
  const isServed = await check(`${owner.name}: nor does a server of its owner`, async () => {
    const question = "Please use the tool leave_mark with {} 1 times, then count to 3.";
    await bench.client().chat.completions.create(ask(bench, question)).catch(mayFail);
    assert.equal(place.marks().includes("server"), false);
  });
  return isTame && isServed;
}

/** A client's tools are the agent's own, and a loop of 30 rounds is one prompt in each API. */
export async function loops(bench: Bench): Promise<boolean> {
  const {
    asked,
    gateway,
    owner: { name },
  } = bench;
  const held: boolean[] = [];
  for (const api of loopApis) {
    const isHeld = await check(`${name}: a loop of 30 rounds over ${api.name} is one prompt`, async () => {
      const before = await bench.prompts();
      const question = 'Please use the tool step with {"at":"#"} 30 times, then count to 3.';
      const { rounds, text } = await runLoop(api, gateway, { model: asked, question, tool: clientTool });
      assert.equal(`${rounds.length} rounds, ${text}`, "30 rounds, 1, 2, 3");
      assert.equal((await bench.prompts()) - before, 1);
    });
    held.push(isHeld);
  }
  await check(`${name}: two loops at once stay apart`, async () => {
    const runs = ["a", "b"].map(async (mark) => {
      const question = `Please use the tool step with {"at":"${mark}#"} 5 times, then count to 3.`;
      const { rounds } = await runLoop(chatLoop, gateway, { model: asked, question, tool: clientTool });
      assert.deepEqual(
        rounds,
        Array.from({ length: 5 }, (_, round) => [{ at: `${mark}${round}` }]),
      );
    });
    await Promise.all(runs);
  });
  return held.every(Boolean);
}

/** One round of a tool that the agent has as its own. */
export async function takesTools(bench: Bench): Promise<boolean> {
  return check(`${bench.owner.name}: a client's tools are the agent's own`, async () => {
    const question = 'Please use the tool step with {"at":"#"} 1 times, then count to 3.';
    const { rounds, ways } = await runLoop(chatLoop, bench.gateway, { model: bench.asked, question, tool: clientTool });
    assert.deepEqual({ rounds, ways }, { rounds: [[{ at: "0" }]], ways: ["native"] });
  });
}
