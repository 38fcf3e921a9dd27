import { expect, it } from "vitest";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { generator } from "../support/long-suite.ts";
import { agentLoop, chatLoop } from "../support/tool-loop.ts";
import { gateway, patience, patienceMs, world } from "../support/world.ts";
import { ask, prompted } from "./acp-machine.ts";

/*
 * Gateways of one home share the log and the agents' hosts. The gateway that takes over a dead one's turns needs their agent, and an
 * agent serves one gateway at a time.
 */

/** `MILLRACE_THREE_GATEWAYS=30` kills at thirty moments; else at three. */
const deaths = Number(process.env["MILLRACE_THREE_GATEWAYS"] ?? "3");
const turns = 4;
const characters = 400;

it.each(Array.from({ length: deaths }, (_, nth) => nth))(
  "a gateway that is killed beside one of its home, while a third starts: every answer is whole, with one prompt each (moment %i)",
  async (nth) => {
    const random = generator(nth);
    const { home, ide, served } = await world({ simulator: { profile: "devin-3", turn: { rate: 300 } } });
    const before = await gateway({ home });
    const questions = Array.from({ length: turns }, (_, i) => `write ${characters} characters for turn ${nth}-${i}`);
    const lost = Promise.all(questions.map((question) => answer(served, question).catch(() => "lost")));
    await ide.untilAgent(({ prompts }) => prompts.length > Math.floor(random() * turns), patience());
    await new Promise((resolve) => setTimeout(resolve, random() * 1_200)); // the moment of the death
    const third = gateway({ home });
    await served.kill();
    const others = [before, await third];
    const answers = await Promise.all(questions.map((question, i) => settled(others[i % 2] ?? before, question)));
    await lost;
    const told = answers.map((text) => (text.startsWith("FAILED") ? text : text.length));
    expect(told).toEqual(questions.map(() => characters));
    expect(prompted(ide).sort()).toEqual(questions);
    expect(new Set(ide.prompts().map(({ pid }) => pid)).size).toBeLessThanOrEqual(2);
  },
  2 * patienceMs,
);

it("a loop of calls goes on in the gateway that is asked, also where another one had taken up the agent that waits", async () => {
  const { model, tool, question, text } = agentLoop;
  const { home, ide, served } = await world({ simulator: { profile: "devin-3", turn: { rate: "instant" } } });
  const before = await gateway({ home });
  const asked = { role: "user", content: question };
  const first = await chatLoop.ask(served, model, [asked], tool);
  await served.kill();
  const third = await gateway({ home });
  await answer(third, "count to 3"); // it takes up every agent that it finds at its start
  const results = chatLoop.results(first.calls.map(({ id }, n) => ({ id, text: `r${n + 1}` })));
  const history = [asked, ...first.messages, ...results];
  const second = await chatLoop.ask(before, model, history, tool);
  const last = chatLoop.results(second.calls.map(({ id }) => ({ id, text: "r3" })));
  const end = await chatLoop.ask(before, model, [...history, ...second.messages, ...last], tool);
  expect(end.text).toBe(text);
  expect(ide.prompts()).toHaveLength(2);
});

/** The whole answer of a request with a key. Rejects where it is none. */
async function answer({ url, key }: GatewayProcess, question: string): Promise<string> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": question },
    body: JSON.stringify(ask(question)),
    signal: patience(),
  });
  const { choices, error } = (await response.json()) as {
    readonly choices?: readonly { readonly message: { readonly content: string } }[];
    readonly error?: { readonly message: string };
  };
  const content = choices?.[0]?.message.content;
  if (content === undefined) throw new Error(error?.message ?? "no answer");
  return content;
}

/** As a client does that waits for its gateway: the same request again while it is told to try later. */
async function settled(target: GatewayProcess, question: string): Promise<string> {
  return await answer(target, question).catch((error: unknown) => `FAILED: ${String(error)}`);
}
