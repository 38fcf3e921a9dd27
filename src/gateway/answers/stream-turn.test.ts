import { expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { damagedLog } from "../../log/rows.ts";
import { fakeGateway } from "../gateway.fake.ts";
import { chat, openStream, path } from "../routes/turn-route.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";

it("a turn whose log cannot be read has no reader left, also one that had ended", async () => {
  const fake = fakeGateway();
  fake.turns.script = () => [started, text("Hi"), finished("Hi")];
  await (await openStream(fake)).reader.rest();
  const turnId = fake.turns.turnId(0);
  let asked = 0;
  fake.turns.look = (_turnId, after) => {
    expect(after).toBe(startOfLog);
    return async () => {
      asked++;
      throw damagedLog();
    };
  };
  const response = await fake.request(`/v1/turns/${turnId}/events?attach=1`);
  expect([response.status, asked]).toEqual([500, 1]);
  expect(fake.turns.readers(turnId)).toBe(0);
});

it("a whole answer that cannot be read has no reader left, and a stream that has ended waits for nothing", async () => {
  const fake = fakeGateway();
  fake.turns.script = () => [started, text("Hi"), finished("Hi")];
  await (await openStream(fake)).reader.rest();
  expect(fake.clock.sleeping).toBe(0);
  const look = fake.turns.look.bind(fake.turns);
  fake.turns.look = (...asked) => {
    look(...asked);
    return async () => {
      throw damagedLog();
    };
  };
  const response = await fake.request(path, { json: { ...chat, messages: [{ role: "user", content: "Other" }] } });
  expect(response.status).toBe(500);
  expect(fake.turns.readers(fake.turns.turnId(1))).toBe(0);
});

it("a failure after its prompt may have gone is not to be repeated by a program, and one before it may be", async () => {
  const fake = fakeGateway();
  const crash = { type: "failed", error: new MillraceError("upstream_failed", "It stopped.").toRecord() } as const;
  const repeats = async (...events: readonly TurnEventBody[]) => {
    fake.turns.script = () => [...events];
    const content = `Question ${fake.turns.started.length}`;
    const response = await fake.request(path, { json: { ...chat, messages: [{ role: "user", content }] } });
    expect(response.status).toBeGreaterThanOrEqual(500);
    return response.headers.get("x-should-retry");
  };
  expect([await repeats(started, crash), await repeats(crash)]).toEqual(["false", null]);
});
