import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { ask, gateway, openai, patience, patienceMs, world } from "../support/world.ts";

/** A home in whose history one turn of this user stands, and the file that holds it. */
async function usedHome(): Promise<{ readonly home: string; readonly file: string }> {
  const { home, client, served } = await world();
  await client.chat.completions.create(ask("before"));
  await expect.poll(() => turnsIn(served), { timeout: patienceMs, interval: 500 }).toBe(1);
  await served.stop();
  return { home, file: join(home, ".millrace/turns.db") };
}

async function told(served: { readonly url: string; readonly key: string }, path: string): Promise<Response> {
  return fetch(`${served.url}${path}`, { headers: { authorization: `Bearer ${served.key}` }, signal: patience() });
}

async function turnsIn(served: { readonly url: string; readonly key: string }): Promise<number> {
  const { data = [] } = (await (await told(served, "/v1/usage")).json()) as {
    readonly data?: readonly { turns: number }[];
  };
  return data.reduce((sum, { turns }) => sum + turns, 0);
}

/** Every row of the usage tables, as text. */
function usageRows(file: string): string {
  const database = new DatabaseSync(file, { readOnly: true });
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'usage!_%' ESCAPE '!'")
    .all();
  const rows = tables.map(({ name }) => [name, database.prepare(`SELECT * FROM ${String(name)}`).all()]);
  database.close();
  return JSON.stringify(rows);
}

describe("a usage history that cannot be used when the gateway starts", () => {
  it("because it is locked: says so, still answers, and has every turn once the lock is gone", async () => {
    const { home, file } = await usedHome();
    const lock = new DatabaseSync(file);
    lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    const served = await gateway({ home });
    await openai(served).chat.completions.create(ask("meanwhile"));
    const limits = (await (await told(served, "/v1/limits")).json()) as { data: unknown[]; errors: unknown[] };
    expect(limits.data).toHaveLength(1);
    expect(limits.errors).toMatchObject([
      { code: "degraded", message: expect.stringContaining("is locked by another") },
    ]);
    expect((await told(served, "/v1/usage")).status).toBe(503);
    lock.close();
    await expect.poll(() => turnsIn(served), { timeout: patienceMs, interval: 500 }).toBe(2);
    expect(((await (await told(served, "/v1/limits")).json()) as { errors: unknown[] }).errors).toEqual([]);
    expect(served.log()).toContain("usage_degraded");
  });

  it("because another version of Millrace wrote it: says so everywhere, changes nothing of it, and continues beside it", async () => {
    const { home, file } = await usedHome();
    const database = new DatabaseSync(file);
    database.exec("INSERT INTO usage_schema (version) VALUES (99); PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    const rows = usageRows(file);
    const served = await gateway({ home });
    const plan = await millrace(["usage"], { home }); // which needs no history
    expect([plan.code, plan.stdout]).toEqual([0, expect.stringContaining("Prompt credits")]);
    for (const args of [
      ["usage", "--since", "7d"],
      ["usage", "--since", "7d", "--json"],
    ]) {
      const { code, stdout, stderr } = await millrace(args, { home });
      expect(code).not.toBe(0);
      expect(stdout + stderr).toMatch(/written by another version of Millrace \(its version 99; this one knows \d+\)/);
    }
    await openai(served).chat.completions.create(ask("meanwhile"));
    const usage = await told(served, "/v1/usage");
    expect(usage.status).toBe(503);
    expect(await usage.text()).toContain("another version of Millrace");
    expect((await (await told(served, "/v1/limits")).json()) as object).toMatchObject({
      data: [{ ide: "devin" }],
      errors: [{ code: "degraded" }],
    });
    await served.stop();
    expect(usageRows(file)).toBe(rows); // the log beside it is its own, and is written
  });
});
