import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { Lives } from "../crash/lives.ts";
import { temporaryHome } from "../support/home.ts";
import { patience, patienceMs, simulator } from "../support/world.ts";

/* A gateway that dies around the end of an answer, before or after it noted that it keeps the conversation: the next turn of that conversation costs one prompt. */

type Message = { readonly role: "user" | "assistant"; readonly content: string };

/** The text of an answer, for a client that repeats its request under one key; each gateway that dies has a successor. */
async function answered(lives: Lives, model: string, messages: readonly Message[], name: string): Promise<string> {
  const body = JSON.stringify({ model, messages });
  const signal = patience();
  for (;;) {
    const { url, key } = await lives.current();
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": name,
    };
    try {
      const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body, signal });
      const { choices } = (await response.json()) as { readonly choices?: readonly { readonly message: Message }[] };
      const text = choices?.[0]?.message.content;
      if (text !== undefined) return text;
      await wait(200); // as clients do between two tries
    } catch {
      signal.throwIfAborted();
      await lives.untilDead();
      await lives.start();
    }
  }
}

const user = (count: number): Message => ({ role: "user", content: `count to ${count}` });

/** How many writes before its last one a gateway dies at, in turn. */
const places = 10;

test.each([
  { name: "Cascade", profile: undefined, model: "claude-sonnet-4.6" },
  { name: "ACP", profile: "devin-3", model: "swe-2:high" },
] as const)("over $name", { timeout: 4 * patienceMs }, async ({ profile, model }) => {
  const home = temporaryHome();
  const ide = await simulator({ home, turn: { rate: "instant", thinking: 0 }, ...(profile && { profile }) });
  const lives = new Lives(home, [], () => {});
  onTestFinished(async () => void (await lives.stop()));
  const counted = async () => (profile === undefined ? (await ide.report()).messages : ide.prompts()).length;
  const ask = (messages: readonly Message[], name: string) => answered(lives, model, messages, name);
  await lives.start();
  await ask([user(3)], "calm");
  const writes = Number(/writes to the store: (\d+)/.exec(await lives.stop())?.[1]);
  for (let back = 0; back < places; back++) {
    await lives.start({ when: back % 2 === 0 ? "before" : "after", write: writes - back });
    const first = [user(back + 4)];
    const text = await ask(first, `${back}, first`);
    await ask([...first, { role: "assistant", content: text }, user(back + 5)], `${back}, next`);
    await lives.kill();
  }
  expect(lives.deaths).toBeGreaterThan(places); // they also died at their writes
  expect(await counted()).toBe(1 + 2 * places);
});
