import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { mayMount, smallDisk } from "../support/small-disk.ts";
import { ask, collect, degradedGauge, gateway, openai, patienceMs, simulator } from "../support/world.ts";

/** Mounting needs a right that not every user has: a reason to skip. The unit tests use a medium that fails on demand. */
test.skipIf(!mayMount)(
  "a disk without room left costs no answer, is said, and is used again once it has room",
  async () => {
    const home = temporaryHome();
    const disk = smallDisk(16);
    await simulator({ home, turn: { rate: 800, size: 800 } });
    const env = { MILLRACE_HOME: join(disk.folder, "data") };
    const args = ["--continuity", "off"];
    const first = await gateway({ home, env, args });
    const asked = async (question: string, key: string, target = first) => {
      const headers = { "idempotency-key": key };
      const { data, response } = await openai(target)
        .chat.completions.create(ask(question), { headers })
        .withResponse();
      const header = (name: string) => response.headers.get(`x-millrace-${name}`);
      return {
        text: data.choices[0]?.message.content ?? "",
        turn: header("turn"),
        degraded: header("degraded"),
        header,
      };
    };
    const before = await asked("write", "with room");
    expect([before.text.length, before.degraded]).toEqual([800, "false"]);

    const stream = await openai(first).chat.completions.create(
      { ...ask("write"), stream: true },
      { headers: { "idempotency-key": "as it fills" } },
    );
    let text = "";
    for await (const chunk of stream) {
      if (text === "") disk.fill();
      text += chunk.choices[0]?.delta.content ?? "";
    }
    expect(text).toBe(before.text);
    const without = await asked("write", "without room");
    expect([without.text, without.degraded]).toEqual([before.text, "true"]);
    const health = await fetch(`${first.url}/health`, { headers: { authorization: `Bearer ${first.key}` } });
    expect(health.status).toBe(200);

    expect(await degradedGauge(first)).toBe(1);

    disk.free();
    await expect.poll(() => degradedGauge(first), { timeout: patienceMs }).toBe(0); // without any turn
    expect((await asked('[[sim: text="ok" rate=instant]]', randomUUID())).degraded).toBe("false");
    await first.kill();

    const second = await gateway({ home, env, args });
    for (const [key, turn] of [
      ["with room", before.turn],
      ["without room", without.turn],
    ] as const) {
      const again = await asked("write", key, second);
      expect([again.text, again.turn, again.header("joined")]).toEqual([before.text, turn, "key"]);
    }
    const streamed = await openai(second).chat.completions.create(
      { ...ask("write"), stream: true },
      { headers: { "idempotency-key": "as it fills" } },
    );
    expect(await collect(streamed)).toEqual({ text: before.text, reason: "stop" });
  },
);
