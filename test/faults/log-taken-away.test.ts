import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { ask, collect, degradedGauge, gateway, openai, simulator } from "../support/world.ts";

/** An open file cannot be taken away on Windows. */
test.skipIf(process.platform === "win32")(
  "a log that is deleted with its key in the middle of an answer is put back, and a gateway that is killed then has lost nothing",
  async () => {
    const home = temporaryHome();
    const ide = await simulator({ home, turn: { rate: 400, size: 1200 } });
    const folder = join(home, ".millrace");
    const first = await gateway({ home, args: ["--continuity", "off"] });
    const headers = { "idempotency-key": "before" };
    const before = await openai(first).chat.completions.create(ask("once"), { headers });
    const { data: stream, response } = await openai(first)
      .chat.completions.create({ ...ask("twice"), stream: true })
      .withResponse();
    let text = "";
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta.content ?? "";
      if (text === "" && delta !== "")
        for (const name of ["turns.db", "turns.db-wal", "log-key"]) rmSync(join(folder, name));
      text += delta;
      if (text.length > 600) break;
    }
    await expect.poll(() => first.log(), { timeout: 30_000 }).toContain("store_restored");
    const [, gauge] = [await openai(first).chat.completions.create(ask("thrice")), await degradedGauge(first)];
    expect(gauge).toBe(0);
    await first.kill();

    const next = await gateway({ home, args: ["--continuity", "off"] });
    const again = await openai(next).chat.completions.create(ask("once"), { headers });
    expect(again.choices).toEqual(before.choices);
    const rest = await openai(next)
      .chat.completions.create({ ...ask("twice"), stream: true })
      .withResponse();
    expect(rest.response.headers.get("x-millrace-turn")).toBe(response.headers.get("x-millrace-turn"));
    const { text: whole, reason } = await collect(rest.data);
    expect([whole.length, whole.startsWith(text), reason]).toEqual([1200, true, "stop"]);
    expect((await ide.report()).messages.map((message) => message.text)).toHaveLength(3);
    const usage = await fetch(`${next.url}/v1/usage?since=1d&by=model`, {
      headers: { authorization: `Bearer ${next.key}` },
    });
    const { data } = (await usage.json()) as { readonly data: readonly { readonly turns: number }[] };
    expect(data.reduce((sum, { turns }) => sum + turns, 0)).toBe(3);
  },
);
