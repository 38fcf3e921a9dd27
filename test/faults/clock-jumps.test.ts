import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { shiftedBy } from "../support/shifted-clock.ts";
import { agentLoop, chatLoop } from "../support/tool-loop.ts";
import { gateway, simulator } from "../support/world.ts";

/* The wall clock is set while a tool loop waits for its results: the loop goes on in the same prompt. */

const dayMs = 86_400_000;

test.each([
  { name: "forward and back", jumps: [dayMs, -dayMs], restarts: false },
  { name: "back, while the gateway is restarted,", jumps: [-dayMs, -2 * dayMs], restarts: true },
])("a clock that is set $name costs no prompt", async ({ jumps, restarts }) => {
  const home = temporaryHome();
  const ide = await simulator({ home, profile: "devin-3", turn: { rate: "instant" } });
  const clock = join(home, "clock");
  writeFileSync(clock, "0");
  const env = shiftedBy(clock);
  let served = await gateway({ home, env });
  const { model, tool, question, text } = agentLoop;
  const messages: object[] = [{ role: "user", content: question }];
  let results = 0;
  for (const jump of jumps) {
    const { calls, messages: answer } = await chatLoop.ask(served, model, messages, tool);
    messages.push(...answer, ...chatLoop.results(calls.map(({ id }) => ({ id, text: `r${++results}` }))));
    if (restarts) await served.stop();
    writeFileSync(clock, String(jump));
    if (restarts) served = await gateway({ home, env });
  }
  const last = await chatLoop.ask(served, model, messages, tool);
  expect(last.text).toBe(text);
  expect(ide.prompts()).toHaveLength(1);
  const headers = { authorization: `Bearer ${served.key}` };
  const { data } = (await (await fetch(`${served.url}/v1/turns`, { headers })).json()) as {
    readonly data: readonly { readonly created_at: string }[];
  };
  const offMs = data.map((turn) => Math.abs(Date.parse(turn.created_at) - Date.now() - (jumps.at(-1) ?? 0)));
  expect(Math.min(...offMs)).toBeLessThan(dayMs / 48); // its clock was off
});
