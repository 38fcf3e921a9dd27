import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { APIError } from "openai";
import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { redisInstalled, redisServer } from "../support/redis.ts";
import { sharedStore } from "../support/shared-store.ts";
import { ask, collect, gateway, openai, patienceMs, simulator } from "../support/world.ts";

const headers = { "idempotency-key": "one question" };

/** Two gateways over one store, as on two machines: the IDE is in the home of the first alone. */
async function worldOfTwo() {
  const home = temporaryHome();
  const empty = join(temporaryHome(), "empty");
  mkdirSync(empty);
  const redis = await redisServer();
  const ide = await simulator({ home, turn: { rate: 500, size: 400, holdAfter: 200 } });
  const env = { ...sharedStore(redis.url, home, "b"), MILLRACE_IDE_ONLY_HOME: empty };
  const first = await gateway({ home, env: sharedStore(redis.url, home, "a") });
  return { ide, first, second: await gateway({ home: empty, env }), env, empty };
}

test.skipIf(!redisInstalled)(
  "a gateway without an IDE says so, and serves what the gateways of the same store have stored",
  async () => {
    const { ide, first, second, env, empty } = await worldOfTwo();
    const running = openai(first).chat.completions.create({ ...ask("write"), stream: true }, { headers });
    const { data: stream, response } = await running.withResponse();
    const turn = response.headers.get("x-millrace-turn") ?? "";
    const elsewhere = openai(second).chat.completions.create({ ...ask("write"), stream: true }, { headers });
    const joined = await elsewhere.withResponse();
    expect(joined.response.headers.get("x-millrace-turn")).toBe(turn);
    await ide.release();
    const [here, there] = await Promise.all([collect(stream), collect(joined.data)]);
    expect([there.text.length, there.text]).toEqual([400, here.text]);

    const authorization = `Bearer ${second.key}`;
    const got = async (path: string) => (await fetch(`${second.url}${path}`, { headers: { authorization } })).text();
    const byKey = await openai(second).chat.completions.create(ask("write"), { headers });
    expect(byKey.choices[0]?.message.content).toBe(here.text);
    const events = await got(`/v1/turns/${turn}/events`);
    expect(events).toContain("event: finished");
    const cursor = [...events.matchAll(/^id: (\S+)$/gm)].at(3)?.[1] ?? "";
    const rest = await fetch(`${second.url}/v1/turns/${turn}/events`, {
      headers: { authorization, "last-event-id": cursor },
    });
    expect(events.endsWith(await rest.text())).toBe(true);
    const { data } = JSON.parse(await got("/v1/turns")) as { readonly data: readonly object[] };
    expect(data).toMatchObject([{ id: turn }]);

    await expect(openai(second).chat.completions.create(ask("another"))).rejects.toMatchObject({
      code: "ide_not_running",
      message: expect.stringMatching(/IDE|Devin Desktop/),
    });
    await expect.poll(() => got("/health")).toContain("does not run here");
    const doctor = await millrace(["doctor"], { home: empty, env });
    expect(doctor.stdout).toContain("Devin Desktop (formerly Windsurf) does not run here");
    expect((await ide.report()).messages).toHaveLength(1);
  },
);

test("without an IDE the answer is 424, with what was looked at and what to do; it works once the IDE is there", async () => {
  const home = temporaryHome();
  const served = await gateway({ home });
  const client = openai(served);
  const refused = await client.chat.completions.create(ask("hi")).catch((error: unknown) => error);
  if (!(refused instanceof APIError)) throw new Error("it was not refused");
  expect(refused.status).toBe(424);
  expect(refused.code).toBe("ide_not_running");
  expect(JSON.stringify(refused.error)).toContain("looked_at");
  expect(JSON.stringify(refused.error)).toContain("Start Devin Desktop");
  await simulator({ home });
  await expect
    .poll(async () => (await client.chat.completions.create(ask("count to 3"))).choices[0]?.message.content, {
      timeout: patienceMs,
    })
    .toBe("1, 2, 3");
});
