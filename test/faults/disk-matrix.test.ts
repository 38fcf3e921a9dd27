import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rawClient, say } from "../../src/gateway/idempotent/raw-client.fake.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { mayMount, type SmallDisk, smallDisk } from "../support/small-disk.ts";
import { gateway, model, simulator } from "../support/world.ts";

/** How long a client may wait for its answer, or for the message that there is none; ms. */
const soonMs = 10_000;

const faults: Readonly<Record<string, (disk: SmallDisk, folder: string) => void>> = {
  "a full disk": (disk) => disk.fill(),
  "a read-only disk": (disk) => disk.readOnly(true),
  "a damaged WAL": (_disk, folder) => {
    const wal = readFileSync(join(folder, "turns.db-wal"));
    wal[40] = (wal[40] ?? 0) ^ 1;
    writeFileSync(join(folder, "turns.db-wal"), wal);
  },
  "a lost key": (_disk, folder) => rmSync(join(folder, "log-key")),
};

/** Each asks one question and resolves with "" or with the code of the error that it was told. */
const apis: Readonly<Record<string, (target: GatewayProcess, text: string, key?: string) => Promise<string>>> = {
  "Chat Completions": (target, text, key) =>
    post(target, "/v1/chat/completions", { model, messages: [{ role: "user", content: text }] }, key),
  Responses: (target, text, key) => post(target, "/v1/responses", { model, input: text }, key),
  Messages: (target, text, key) =>
    post(target, "/v1/messages", { model, max_tokens: 999, messages: [{ role: "user", content: text }] }, key),
  "stream protocol": async (target, text, key = text) => {
    const encryptionKey = Buffer.alloc(32, key).toString("base64url");
    const names = { "x-idempotency-key": key.replaceAll(/\W+/g, "-"), "x-idempotent-encryption-key": encryptionKey };
    const attach = rawClient(target).attach("sse", names);
    attach.send(say.request(text, 0, { model })).endInput();
    const error = await attach.ended;
    return error === undefined ? "" : error.message;
  },
};

async function post(target: GatewayProcess, path: string, body: object, key: string | undefined): Promise<string> {
  const response = await fetch(target.url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${target.key}`,
      "content-type": "application/json",
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(soonMs),
  });
  const answer = await response.text();
  return response.ok ? "" : answer;
}

const aboutTheLog: unknown = expect.stringMatching(/log/i);
const oneOrTwo: unknown = expect.toSatisfy((prompts: unknown) => prompts === 1 || prompts === 2);

/** Mounting needs a right that not every user has: a reason to skip. */
test.skipIf(!mayMount).for(Object.entries(faults))(
  "%s at the start costs one more prompt at most, in each API, and none under a key that can be known",
  { timeout: 240_000 },
  async ([fault, damage]) => {
    const home = temporaryHome();
    const disk = smallDisk(32);
    const ide = await simulator({ home, turn: { rate: 1_000, size: 80 } });
    const folder = join(disk.folder, "data");
    const start = () => gateway({ home, env: { MILLRACE_HOME: folder }, args: ["--continuity", "off"] });
    const cases = Object.entries(apis).flatMap(([api, send]) => [
      { name: `${api} with a key`, send, key: `${api}, key` },
      { name: `${api} without a key`, send, key: undefined },
    ]);
    const first = await start();
    for (const { name, send, key } of cases) expect([name, await send(first, name, key)]).toEqual([name, ""]);
    await first.kill();

    damage(disk, folder);
    const second = await start();
    const told: Record<string, string> = {};
    for (const { name, send, key } of cases) told[name] = await send(second, name, key);
    const { messages } = await ide.report();
    for (const { name, key } of cases) {
      const prompts = messages.filter(({ text }) => text.includes(name)).length;
      const isStream = name.startsWith("stream");
      const isKnown = fault !== "a lost key" && (key !== undefined || isStream);
      const isRefused = fault === "a damaged WAL" ? isKnown : fault !== "a lost key" && isStream;
      expect([name, told[name]]).toEqual([name, isRefused ? aboutTheLog : ""]);
      expect([name, prompts]).toEqual([name, isKnown ? 1 : oneOrTwo]);
    }
  },
);
