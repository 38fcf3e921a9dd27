import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { redisInstalled, redisServer } from "../support/redis.ts";
import { ask, collect, gateway, openai, patienceMs, simulator } from "../support/world.ts";

test.skipIf(!redisInstalled)(
  "a gateway without an IDE says so, and serves what the gateways of the same store have stored",
  async () => {
    const home = temporaryHome();
    const empty = join(temporaryHome(), "empty");
    mkdirSync(empty);
    const redis = await redisServer();
    const ide = await simulator({ home, turn: { rate: 500, size: 400, holdAfter: 200 } });
    const shared = {
      MILLRACE_STORE: "redis",
      MILLRACE_REDIS_URL: redis.url,
      MILLRACE_KEY_FILE: join(home, "key"),
      MILLRACE_LOG_KEY_FILE: join(home, "log-key"),
    };
    const env = { ...shared, MILLRACE_HOME: join(home, "b"), MILLRACE_IDE_ONLY_HOME: empty };
    const first = await gateway({ home, env: { ...shared, MILLRACE_HOME: join(home, "a") } });
    const second = await gateway({ home: empty, env });
    const headers = { "idempotency-key": "one question" };

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
    const usage = async () => (JSON.parse(await got("/v1/usage")) as { readonly data: readonly object[] }).data;
    await expect.poll(usage, { timeout: patienceMs }).toMatchObject([{ turns: 1 }]);

    await expect(openai(second).chat.completions.create(ask("another"))).rejects.toMatchObject({
      code: "ide_not_running",
      message: expect.stringMatching(/IDE|Devin Desktop/),
    });
    expect(await got("/health")).toContain("does not run here");
    const doctor = await millrace(["doctor"], { home: empty, env });
    expect(doctor.stdout).toContain("No language server of Devin Desktop (formerly Windsurf) was found");
    expect((await ide.report()).messages).toHaveLength(1);
  },
);
