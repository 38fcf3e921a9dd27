import { expect, test } from "vitest";
import { playedSpec } from "../session/session.fake.ts";
import { UpdateReader } from "../session/updates.ts";
import { conclude, endsHere } from "./conclusion.ts";

test("a turn ends once its agent has asked for permission more than twenty times", () => {
  const reader = new UpdateReader();
  const context = { spec: playedSpec, clock: { now: () => 0 } };
  const answered = { type: "answered", stopReason: "end_turn", tokens: undefined } as const;
  reader.permissions = 20;
  expect(endsHere(reader, playedSpec)).toBe(false);
  reader.permissions = 21;
  expect(endsHere(reader, playedSpec)).toBe(true);
  expect(conclude(answered, reader, context)).toMatchObject({
    type: "failed",
    error: { message: expect.stringContaining("asked for permission 20 times") },
  });
});
