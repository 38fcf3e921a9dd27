import { expect, test } from "vitest";
import { defaultQuotas } from "../../gateway/idempotent/stream/quotas.ts";
import { streamQuotasOf } from "./stream-quotas.ts";

test("quotas of the stream protocol come from variables, where they are set", () => {
  expect(streamQuotasOf({}, 60_000)).toEqual({ ...defaultQuotas, retainedMs: 60_000 });
  expect(
    streamQuotasOf({ MILLRACE_STREAMS_OPEN: "3", MILLRACE_STREAMS_ATTACHES: "", MILLRACE_STREAMS_MB: "2" }, 7),
  ).toEqual({
    ...defaultQuotas,
    retainedMs: 7,
    openStreams: 3,
    retainedBytes: 2 * 1024 * 1024,
  });
});

test.each(["0", "-1", "1.5", "many"])("a quota of %j is refused by name", (text) => {
  expect(() => streamQuotasOf({ MILLRACE_STREAMS_OPEN: text }, 1)).toThrow(/MILLRACE_STREAMS_OPEN/);
});
