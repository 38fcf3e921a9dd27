import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { APIError } from "openai";
import { expect, test } from "vitest";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { generator } from "../support/long-suite.ts";
import { ask, gateway, openai, simulator } from "../support/world.ts";

const random = generator(13);

function flip(file: string, offsetOf: (size: number) => number): void {
  const bytes = readFileSync(file);
  const offset = offsetOf(bytes.length);
  bytes[offset] = (bytes[offset] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

/** A killed gateway that answered one request under a key and one without; then something happens to its files. */
async function damaged(damage: (folder: string) => void) {
  const home = temporaryHome();
  const folder = join(home, ".millrace");
  const ide = await simulator({ home, turn: { rate: 800, size: 400 } });
  const args = ["--continuity", "off"];
  const first = await gateway({ home, args });
  const answer = await asked(first, "keyed", "spent");
  await asked(first, "without a key");
  await first.kill();
  damage(folder);
  const prompts = async () => (await ide.report()).messages.length;
  return { home, folder, answer, prompts, start: () => gateway({ home, args }) };
}

async function asked(target: GatewayProcess, question: string, key?: string) {
  const headers = key === undefined ? {} : { "idempotency-key": key };
  const answer = await openai(target).chat.completions.create(ask(question), { headers });
  return answer.choices[0]?.message.content;
}

async function refusalOf(target: GatewayProcess, question: string, key: string) {
  try {
    await asked(target, question, key);
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    return [error.status, error.code, error.headers?.get("x-should-retry")];
  }
  throw new Error("it was answered");
}

const inTheWal = (offset: number) => (folder: string) => flip(join(folder, "turns.db-wal"), () => offset);

test.each([
  ["a bit flipped at 16 of the WAL", inTheWal(16)],
  ["a bit flipped at 40 of the WAL", inTheWal(40)],
  ["a bit flipped at 60 of the WAL", inTheWal(60)],
  ["an emptied file", (folder: string) => truncateSync(join(folder, "turns.db"), 0)],
])("%s is reported, the files are kept, and a key whose turn is lost sends no second prompt", async (_, damage) => {
  const { home, folder, prompts, start } = await damaged(damage);
  expect((await millrace(["doctor"], { home })).stdout).toContain("is damaged");
  expect((await millrace(["usage"], { home })).stderr).toContain("is damaged"); // and leaves its files as they are
  const second = await start();
  const refused = [409, "log_damaged", "false"];
  expect(await refusalOf(second, "keyed", "spent")).toEqual(refused);
  expect(await prompts()).toBe(2);
  expect(await asked(second, "keyed", "another key")).not.toBe("");
  expect(await asked(second, "without a key")).not.toBe("");
  expect(await prompts()).toBe(4);

  expect(second.log()).toContain("store_damaged");
  const copies = readdirSync(folder).filter((name) => /\.damaged-\d+(-wal)?$/.test(name));
  expect(copies).toHaveLength(2);
  const authorization = `Bearer ${second.key}`;
  const health = await (await fetch(`${second.url}/health`, { headers: { authorization } })).json();
  expect(health).toMatchObject({ store: { damaged: { copy: expect.stringContaining(".damaged-"), lost_keys: 1 } } });
  const metrics = await (await fetch(`${second.url}/metrics`, { headers: { authorization } })).text();
  expect(metrics).toMatch(/^millrace_store_damaged 1$/m);

  await second.kill();
  const third = await start();
  expect(await refusalOf(third, "keyed", "spent")).toEqual(refused); // also after the next start
  expect(third.log()).not.toContain("store_damaged");
  expect(await prompts()).toBe(4);
});

test("bits flipped anywhere in the WAL never make a second prompt under a key", async () => {
  for (let round = 0; round < 4; round++) {
    const { answer, prompts, start } = await damaged((folder) =>
      flip(join(folder, "turns.db-wal"), (size) => Math.floor(random() * size)),
    );
    const second = await start();
    const told = await asked(second, "keyed", "spent").catch((error: unknown) =>
      error instanceof APIError ? error.code : error,
    );
    expect([answer, "log_damaged", "internal"]).toContain(told);
    expect(await prompts()).toBe(2);
  }
});

test("a key of the log that is lost costs one more prompt at most, and is reported", async () => {
  const { prompts, start } = await damaged((folder) => rmSync(join(folder, "log-key")));
  const second = await start();
  await asked(second, "keyed", "spent");
  await asked(second, "keyed", "spent");
  expect(await prompts()).toBe(3);
  await asked(second, "without a key");
  expect(await prompts()).toBe(4);
});
