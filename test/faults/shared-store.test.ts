import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { redisInstalled, redisServer } from "../support/redis.ts";
import { sharedStore } from "../support/shared-store.ts";
import {
  ask,
  collect,
  degradedGauge,
  gateway,
  openai,
  patience,
  patienceMs,
  simulator,
  untilText,
} from "../support/world.ts";

/** No server to be had is a reason to skip; CI installs one. */
test.skipIf(!redisInstalled)(
  "gateways that share a Redis server share turns, follow those of a home whose gateway is killed and comes back, and work without the server for a while",
  async () => {
    const home = temporaryHome();
    const redis = await redisServer();
    const ide = await simulator({ home, turn: { rate: 500, size: 600, holdAfter: 300 } });
    const beside = async (name: string) =>
      gateway({ home, args: ["--continuity", "off"], env: sharedStore(redis.url, home, name) });
    const first = await beside("a");
    const second = await beside("b");
    const headers = { "idempotency-key": "one question" };

    const { data: stream, response } = await openai(first)
      .chat.completions.create({ ...ask("write"), stream: true }, { headers })
      .withResponse();
    const turnId = response.headers.get("x-millrace-turn");
    const joined = await openai(second)
      .chat.completions.create({ ...ask("write"), stream: true }, { headers })
      .withResponse();
    expect(joined.response.headers.get("x-millrace-turn")).toBe(turnId);
    const throughSecond = collect(joined.data);
    await untilText(stream);
    await first.kill();
    await ide.setTurn({ rate: 500, size: 600 });
    await ide.release();
    await beside("a");
    const { text, reason } = await throughSecond;
    expect([text.length, reason]).toEqual([600, "stop"]);
    const asked = async (question: string, key?: string) => {
      const client = openai(second).chat.completions;
      const withKey = key === undefined ? {} : { headers: { "idempotency-key": key } };
      const { data, response } = await client.create(ask(question), withKey).withResponse();
      return {
        answer: data.choices[0]?.message.content,
        header: (name: string) => response.headers.get(`x-millrace-${name}`),
      };
    };
    const replayed = await asked("write", "one question");
    expect([replayed.answer, replayed.header("turn")]).toEqual([text, turnId]);

    await redis.kill();
    const without = await asked("write, without a store");
    expect([without.answer, without.header("degraded")]).toEqual([text, "true"]);
    expect(await degradedGauge(second)).toBe(1);
    await expect(asked("write", "no store")).rejects.toMatchObject({ status: 503, code: "unavailable" });
    await redis.start();
    await expect.poll(() => degradedGauge(second), { timeout: patienceMs }).toBe(0); // without any turn
    expect((await asked('[[sim: text="ok" rate=instant]]', randomUUID())).header("degraded")).toBe("false");
    const stored = await asked("write", "no store"); // no prompt was sent for it before
    expect([stored.answer, stored.header("degraded")]).toEqual([text, "false"]);
    const report = await ide.until(({ cascades }) => cascades.every(({ archived }) => archived), patience());
    expect(report.messages.filter((message) => message.text.includes("write"))).toHaveLength(3);
  },
);
