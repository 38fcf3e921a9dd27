import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, openai, patienceMs, simulator } from "../support/world.ts";

const turn = { rate: "instant", firstMs: 5, inputMs: 5 } as const;

test("the IDE in use is waited for while another one runs, and is the choice again when it is back", {
  timeout: 2 * patienceMs,
}, async () => {
  const home = temporaryHome();
  const used = await simulator({ home, turn });
  const other = await simulator({ home, turn, profile: "windsurf-next" });
  const served = await gateway({ home });
  const client = openai(served);
  const asked = async () => (await client.chat.completions.create(ask("hello")).withResponse()).response;
  const prompts = async () => [(await used.report()).messages.length, (await other.report()).messages.length];
  expect((await asked()).headers.get("x-millrace-ide")).toBe("devin");
  expect(await prompts()).toEqual([1, 0]);
  await used.stop();
  const refused = await client.chat.completions.create(ask("hello")).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    status: 424,
    message: expect.stringMatching(/which prompts went to, does not run now/),
  });
  const status = async () => (await millrace(["status"], { home })).stdout; // `/health` shows the last look's result
  await expect.poll(status, { timeout: patienceMs }).toMatch(/^prompts .*which prompts went to, does not run now/m);
  expect((await other.report()).messages).toEqual([]);
  await served.stop();
  const next = await gateway({ home }); // an update of Millrace, or of the whole machine, forgets nothing
  const again = await openai(next)
    .chat.completions.create(ask("hello"))
    .catch((error: unknown) => error);
  expect(again).toMatchObject({ status: 424, message: expect.stringMatching(/millrace restart --ide devin-next/) });
  expect((await other.report()).messages).toEqual([]);
  const back = await simulator({ home, turn });
  const { response } = await openai(next).chat.completions.create(ask("hello")).withResponse();
  expect(response.headers.get("x-millrace-ide")).toBe("devin");
  expect((await back.report()).messages).toHaveLength(1);
  expect((await other.report()).messages).toEqual([]);
  await back.stop();
  await next.stop();
  const named = await gateway({ home, args: ["--ide", "devin-next"] });
  const moved = await openai(named).chat.completions.create(ask("hello")).withResponse();
  expect(moved.response.headers.get("x-millrace-ide")).toBe("devin-next");
});
