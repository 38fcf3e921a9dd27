import { join } from "node:path";
import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { agentLoop, chatLoop } from "../support/tool-loop.ts";
import { gateway, simulator } from "../support/world.ts";

test("two gateways of two homes ask one agent program: what one's user stops leaves the other one's tool loop alone", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, profile: "devin-3", turn: { rate: "instant" } });
  const of = (name: string) => ({ home, env: { MILLRACE_HOME: join(home, name) } });
  const { model, tool, question, text } = agentLoop;
  let [one, other] = [await gateway(of("one")), await gateway(of("other"))];
  const asked = { role: "user", content: question };
  const begin = async (served: typeof one) => {
    const { calls, messages } = await chatLoop.ask(served, model, [asked], tool);
    return [asked, ...messages, ...chatLoop.results(calls.map(({ id }, n) => ({ id, text: `r${n + 1}` })))];
  };
  const [ofOne, ofOther] = [await begin(one), await begin(other)];
  const goOn = async (served: typeof one, history: readonly object[]) => {
    const { calls, messages } = await chatLoop.ask(served, model, history, tool);
    return [...history, ...messages, ...chatLoop.results(calls.map(({ id }) => ({ id, text: "r3" })))];
  };
  await one.stop();
  one = await gateway(of("one"));
  const [later, laterOther] = [await goOn(one, ofOne), await goOn(other, ofOther)];
  expect((await chatLoop.ask(one, model, later, tool)).text).toBe(text);
  expect((await millrace(["stop", "--agents"], of("one"))).code).toBe(0);
  await other.kill();
  other = await gateway(of("other"));
  expect((await chatLoop.ask(other, model, laterOther, tool)).text).toBe(text);
  expect(ide.prompts()).toHaveLength(2);
});
