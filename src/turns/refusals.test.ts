import { describe, expect, test } from "vitest";
import { type ErrorCode, MillraceError, type MillraceErrorOptions } from "../base/errors.ts";
import type { ModelUid } from "../base/ids.ts";
import { asking, FakeReader, fakeTurns } from "./turns.fake.ts";

const soon = new AbortController().signal;

/** Turns whose first answer was a refusal. */
async function refused(code: ErrorCode, options: MillraceErrorOptions = {}) {
  const fake = fakeTurns();
  const { turnId } = await fake.turns.start(asking(), soon);
  const error = new MillraceError(code, "No more.", { hint: "Wait.", ...options }).toRecord();
  fake.backend.last.emit({ type: "failed", error });
  await new FakeReader(fake.turns, turnId).done;
  const again = (fingerprint: string, modelUid = "some-model") =>
    fake.turns.start(asking({ fingerprint, modelUid: modelUid as ModelUid }), soon); // any text will do here
  return { ...fake, again };
}

describe("after a refusal", () => {
  test("what is sent for the same model in the next minute is refused here, and the server is asked once", async () => {
    const { again, backend, clock } = await refused("quota_exhausted");
    await clock.advance(12_000);
    await expect(again("the same again")).rejects.toMatchObject({
      code: "quota_exhausted",
      message: "No more.",
      hint: "Wait. That was the answer 12 s ago; the IDE's server is not asked again for 48 s.",
      repeated: true,
    });
    await expect(again("something else")).rejects.toMatchObject({ repeated: true });
    expect(backend.answers).toHaveLength(1);
    await clock.advance(48_000);
    await again("a minute later");
    expect(backend.answers).toHaveLength(2);
  });

  test("another model is asked", async () => {
    const { again, backend } = await refused("quota_exhausted");
    await again("the same again", "a-cheaper-model");
    expect(backend.answers).toHaveLength(2);
  });

  test("a reset within the minute ends it", async () => {
    const { again, backend, clock } = await refused("quota_exhausted", { resetsAtMs: fakeTurns().clock.now() + 5_000 });
    await expect(again("before")).rejects.toMatchObject({ repeated: true });
    await clock.advance(5_000);
    await again("after");
    expect(backend.answers).toHaveLength(2);
  });

  test("a limit holds as long as its wait, and says what is left of it", async () => {
    const { again, backend, clock } = await refused("rate_limited", { retryAfterMs: 20_000 });
    await clock.advance(5_000);
    await expect(again("early")).rejects.toMatchObject({ code: "rate_limited", retryAfterMs: 15_000 });
    await clock.advance(15_000);
    await again("in time");
    expect(backend.answers).toHaveLength(2);
  });

  test("one without a wait, and what is no refusal, keep nobody from asking", async () => {
    for (const code of ["rate_limited", "upstream_failed"] as const) {
      const { again, backend } = await refused(code);
      await again("at once");
      expect(backend.answers).toHaveLength(2);
    }
  });
});
