import { expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { defaultQuotas, Quotas, type StreamQuotas } from "./quotas.ts";

function begin(quotas: Partial<StreamQuotas>) {
  const clock = new FakeClock();
  return { clock, quotas: new Quotas(clock, { ...defaultQuotas, ...quotas }) };
}

const failureOf = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
};

test("a caller that attaches too often gets the time to wait; another caller is not held back (R19)", async () => {
  const { clock, quotas } = begin({ attachesPerMinute: 2 });
  quotas.attach("a")();
  quotas.attach("a")();
  expect(failureOf(() => quotas.attach("a"))).toMatchObject({
    code: "rate_limited",
    retryAfterMs: 30_000,
    details: undefined,
  });
  quotas.attach("b")();
  await clock.advance(30_000);
  quotas.attach("a")();
  expect(failureOf(() => quotas.attach("a"))).toMatchObject({ retryAfterMs: 30_000 });
});

test("open streams are counted until they end, once each", () => {
  const { quotas } = begin({ openStreams: 2 });
  const first = quotas.attach("a");
  quotas.attach("a");
  expect(failureOf(() => quotas.attach("a"))).toMatchObject({ details: { reason: "too_many_streams" } });
  first();
  first();
  quotas.attach("a");
  expect(failureOf(() => quotas.attach("a"))).toMatchObject({ details: { reason: "too_many_streams" } });
});

test("bytes are counted as long as they are kept", async () => {
  const { clock, quotas } = begin({ retainedBytes: 100, retainedMs: 120_000 });
  quotas.keep("a", 60);
  expect(failureOf(() => quotas.keep("a", 41))).toMatchObject({
    code: "rate_limited",
    details: { reason: "too_many_bytes" },
  });
  quotas.keep("a", 40);
  quotas.keep("b", 100);
  await clock.advance(180_000);
  quotas.keep("a", 100);
});
