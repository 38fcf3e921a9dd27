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

test("a damaged file is set aside and said, and a key that was used before costs one more prompt at most", async () => {
  const { home, folder, prompts, start } = await damaged((folder) => truncateSync(join(folder, "turns.db"), 0));
  expect((await millrace(["doctor"], { home })).stdout).toContain("is damaged");
  const second = await start();
  await asked(second, "keyed", "spent");
  await asked(second, "keyed", "spent");
  expect(await prompts()).toBe(3);

  expect(second.log()).toContain("store_damaged");
  const copies = readdirSync(folder).filter((name) => /\.damaged-\d+$/.test(name));
  expect(copies).toHaveLength(1);
  const authorization = `Bearer ${second.key}`;
  const response = await fetch(`${second.url}/health`, { headers: { authorization } });
  expect(response.headers.get("x-millrace-store")).toBe("new");
  expect(await response.json()).toMatchObject({ store: { damaged: { copy: expect.stringContaining(".damaged-") } } });
  const metrics = await (await fetch(`${second.url}/metrics`, { headers: { authorization } })).text();
  expect(metrics).toMatch(/^millrace_store_damaged 1$/m);
});

test("bits flipped anywhere in the WAL cost one more prompt at most, and never an answer that differs", async () => {
  for (let round = 0; round < 4; round++) {
    const { answer, prompts, start } = await damaged((folder) =>
      flip(join(folder, "turns.db-wal"), (size) => Math.floor(random() * size)),
    );
    const second = await start();
    const told = await asked(second, "keyed", "spent").catch((error: unknown) =>
      error instanceof APIError ? error.code : error,
    );
    expect([answer, "internal"]).toContain(told);
    expect(await prompts()).toBeLessThanOrEqual(3);
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
