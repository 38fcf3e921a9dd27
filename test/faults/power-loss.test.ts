import { expect, test } from "vitest";
import { checkLog } from "../power/check-log.ts";
import { checkRecords } from "../power/check-record.ts";
import { losePower } from "../power/lose-power.ts";
import { recordedLog, recordedRecords } from "../power/recorded.ts";
import { mayTrace } from "../power/trace.ts";
import { generator } from "../support/long-suite.ts";

/** Some of the moments that `npm test -- search power` goes through one by one. Recording system calls needs `strace` and the right to. */
test.skipIf(!mayTrace)(
  "after a power cut at any write everything acknowledged is there, and any part of the rest may be lost",
  async () => {
    const log = await recordedLog(1, 120);
    const lost = await losePower(log, { share: 0.02, random: generator(3), check: checkLog });
    expect(lost.broken).toEqual([]);
    expect(lost.lossy).toBeGreaterThan(20);
    const records = await losePower(await recordedRecords(3), {
      share: 0.3,
      random: generator(4),
      check: checkRecords,
    });
    expect(records.broken).toEqual([]);
    expect(records.lossy).toBeGreaterThan(20);
  },
);

test.skipIf(!mayTrace)("a writer that does not flush would be found out", async () => {
  const unflushed = async (steps: ReturnType<typeof recordedLog>) =>
    (await steps).filter(({ kind }) => kind !== "sync" && kind !== "sync-names");
  const log = await losePower(await unflushed(recordedLog(1, 60)), {
    share: 0.02,
    random: generator(3),
    check: async (folder, said) => await checkLog(folder, said).catch((error: unknown) => [String(error)]),
  });
  expect(log.broken.length).toBeGreaterThan(0);
  const records = await losePower(await unflushed(recordedRecords(2)), {
    share: 0.3,
    random: generator(4),
    check: checkRecords,
  });
  expect(records.broken.length).toBeGreaterThan(0);
});
