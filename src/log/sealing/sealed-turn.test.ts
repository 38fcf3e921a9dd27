import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { startOfLog, type TurnId } from "../../base/ids.ts";
import type { Secret } from "../../base/secret.ts";
import { openLog } from "../live.ts";
import { openSqliteRows } from "../sqlite.ts";
import { newTurn, plainRequest } from "../turn.fake.ts";
import { Sealer } from "./sealer.ts";
import { clientKey, finished, gatewayKey, otherKey, tamperable, text } from "./tamperable.fake.ts";

describe("a turn that its client sealed", () => {
  test("is unknown without the client's key or with another, in the same words as one that never was", async () => {
    const { clock, store } = await tamperable();
    const { record, writer } = await store.create(newTurn(), "o", { clientKey });
    await writer?.append([text("a")], clock.now());
    const said = async (turnId: TurnId, key: Secret | undefined) =>
      store.readAfter(turnId, startOfLog, { limit: 9, clientKey: key }).then(
        ({ events }) => `${events.length} events`,
        (error: Error) => JSON.stringify(error),
      );
    const never = "turn_never" as TurnId;
    for (const key of [undefined, otherKey]) {
      expect(await said(record.turnId, key)).toBe(await said(never, key));
    }
    expect(await store.get(record.turnId, { clientKey: otherKey })).toBeUndefined();
    expect(await said(record.turnId, clientKey)).toBe("1 events");
  });

  test("is listed as sealed: when, which model, how it ended, and no word of it", async () => {
    const { clock, store } = await tamperable();
    const said = { role: "user" as const, parts: [{ type: "text" as const, text: "a secret" }] };
    const turn = newTurn({ dialect: "idempotent", project: "p", request: { ...plainRequest, messages: [said] } });
    const { writer } = await store.create(turn, "o", { clientKey });
    await writer?.append([text("a"), finished], clock.now());
    const [listed] = await store.list({ limit: 5 });
    expect(listed).toMatchObject({
      turnId: turn.turnId,
      sealed: true,
      dialect: "idempotent",
      outcome: "finished",
      project: "p",
    });
    expect(listed?.request).toEqual({ model: plainRequest.model });
    expect(await store.get(turn.turnId)).toMatchObject({ ...listed, request: { messages: [] } });
    expect((await store.get(turn.turnId, { clientKey }))?.sealed).toBeUndefined();
  });

  test("can be continued by the gateway while it runs, and opened only by the client once it has ended", async () => {
    const { clock, store, rows } = await tamperable();
    const { record } = await store.create(newTurn(), "o", { clientKey });
    const { turnId } = record;
    expect((await store.listRunning()).map((running) => running.turnId)).toEqual([turnId]);
    const claimed = await store.claim(turnId, "next");
    await claimed?.writer.append([text("a"), finished], clock.now());
    expect(await store.listRunning()).toEqual([]);
    expect(new Sealer(gatewayKey).open(await rows.get(turnId), "runner")).toBeUndefined();
    expect(await store.readAfter(turnId, startOfLog, { limit: 9, clientKey })).toMatchObject({ ended: true });
  });
});

test("no file of a sealed log holds a word of prompt, answer, thinking, tools, key, session or error (G9)", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-log-"));
  const clock = new FakeClock();
  const canary = (n: number) => `canary-${n}-7f3a9c`;
  const rows = await openSqliteRows({ path: join(folder, "log.db") });
  const store = await openLog({ open: async () => ({ rows, gatewayKey }), abilities: rows.abilities, clock });
  const request = {
    ...plainRequest,
    messages: [{ role: "user" as const, parts: [{ type: "text" as const, text: canary(0) }] }],
  };
  const turn = newTurn({
    request,
    idempotencyKey: canary(1),
    session: canary(2),
    fingerprint: canary(3),
    wire: canary(4),
  });
  const { idempotencyKey: _its, ...another } = newTurn({ ...turn, turnId: newTurn().turnId });
  const own = await store.create(turn, "o");
  const sealed = await store.create({ ...another, idempotencyKey: canary(10) }, "o", { clientKey });
  for (const { writer } of [own, sealed]) {
    await writer?.append(
      [
        text(canary(5)),
        { type: "thinking", delta: canary(6) },
        { type: "tool_call", callId: "1", name: canary(7), argumentsDelta: canary(8), done: true },
        { type: "failed", error: { code: "upstream_failed", message: canary(9), hint: "" } },
      ],
      clock.now(),
    );
  }
  const search = async () => {
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name))));
    expect(files.length).toBeGreaterThan(1);
    return files.some((bytes) => bytes.includes("7f3a9c"));
  };
  expect(await search()).toBe(false);
  const head = new TextEncoder().encode(canary(11));
  const kept = await rows.get(own.record.turnId);
  if (kept === undefined) throw new Error("it was stored");
  await rows.commit([{ type: "insert", row: { ...kept, id: "clear", last: 0, tags: [] }, head }], true);
  expect(await search()).toBe(true); // the search itself finds what is there
  await store.close();
  await rm(folder, { recursive: true, force: true });
});
