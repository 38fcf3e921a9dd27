import { expect, it } from "vitest";
import { startOfLog } from "../../base/ids.ts";
import { damagedLog } from "../../log/rows.ts";
import { fakeGateway } from "../gateway.fake.ts";
import { openStream } from "../routes/turn-route.fake.ts";
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
