import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { ask, degradedGauge, gateway, openai, simulator } from "../support/world.ts";

/** An open file cannot be taken away on Windows. */
test.skipIf(process.platform === "win32")(
  "a log that is deleted in the middle of an answer costs nothing of it, is reported, and a request with a key is refused until the next start",
  async () => {
    const home = temporaryHome();
    const ide = await simulator({ home, turn: { rate: 400, size: 1200 } });
    const folder = join(home, ".millrace");
    const first = await gateway({ home, args: ["--continuity", "off"] });
    const stream = await openai(first).chat.completions.create({ ...ask("once"), stream: true });
    let text = "";
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta.content ?? "";
      if (text === "" && delta !== "") for (const name of ["turns.db", "turns.db-wal"]) rmSync(join(folder, name));
      text += delta;
    }
    expect(text).toHaveLength(1200);
    await expect.poll(() => degradedGauge(first), { timeout: 30_000 }).toBe(1);
    const headers = { "idempotency-key": "a key" };
    const keyed = openai(first).chat.completions.create(ask("twice"), { headers, maxRetries: 0 });
    await expect(keyed).rejects.toMatchObject({ status: 503, code: "unavailable" });
    const { response } = await openai(first).chat.completions.create(ask("thrice")).withResponse();
    expect(response.headers.get("x-millrace-degraded")).toBe("true");
    await first.kill();

    const next = await gateway({ home, args: ["--continuity", "off"] });
    await openai(next).chat.completions.create(ask("twice"), { headers });
    expect(await degradedGauge(next)).toBe(0);
    expect((await ide.report()).messages).toHaveLength(3);
  },
);

test.skipIf(process.platform === "win32")(
  "a log that is moved away in the middle of an answer costs nothing of it, and is used again once it is back",
  async () => {
    const home = temporaryHome();
    const ide = await simulator({ home, turn: { rate: 400, size: 1200 } });
    const names = ["turns.db", "turns.db-wal", "turns.db-shm"].map((name) => join(home, ".millrace", name));
    const served = await gateway({ home, args: ["--continuity", "off"] });
    const stream = await openai(served).chat.completions.create({ ...ask("once"), stream: true });
    let text = "";
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta.content ?? "";
      if (text === "" && delta !== "") for (const name of names) renameSync(name, `${name}.away`);
      text += delta;
    }
    expect(text).toHaveLength(1200);
    await expect.poll(() => degradedGauge(served), { timeout: 30_000 }).toBe(1);
    for (const name of names) renameSync(`${name}.away`, name);
    await expect.poll(() => degradedGauge(served), { timeout: 30_000 }).toBe(0);
    const headers = { "idempotency-key": "a key" };
    const keyed = async () =>
      (await openai(served).chat.completions.create(ask("twice"), { headers })).choices[0]?.message.content;
    expect(await keyed()).toBe(await keyed());
    expect((await ide.report()).messages).toHaveLength(2);
  },
);

test("another program cannot take the log for itself, and delete its WAL, while a gateway runs", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home });
  const served = await gateway({ home });
  const other = new DatabaseSync(join(home, ".millrace/turns.db"));
  const take = () => other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  expect(take).toThrow(/locked/);
  other.close();
  const headers = { "idempotency-key": "a key" };
  await openai(served).chat.completions.create(ask("once"), { headers });
  expect(await degradedGauge(served)).toBe(0);
  expect((await ide.report()).messages).toHaveLength(1);
});
