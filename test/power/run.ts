import { generator, say, table } from "../support/long-suite.ts";
import { checkLog } from "./check-log.ts";
import { checkRecords } from "./check-record.ts";
import { type Losses, losePower } from "./lose-power.ts";
import { recordedLog, recordedRecords } from "./recorded.ts";
import { mayTrace } from "./trace.ts";

/**
 * `npm test -- search power`: records what the log and the client's record store do to their disks (with `strace`), takes the power
 * away before each of those changes, and opens each state that a disk may have kept. Exits 1 if anything that was acknowledged is
 * gone, or anything is there that was never written. `POWER_WRITES` says how long the recorded log is (300), `POWER_SHARE` how
 * many of all moments are tried (1), `POWER_SEED` repeats a run.
 */
const share = Number(process.env["POWER_SHARE"] ?? "1");
const seed = Number(process.env["POWER_SEED"] ?? String(Date.now() % 1_000_000));
if (!mayTrace)
  throw new Error("System calls cannot be recorded here: install strace, and run where tracing is allowed.");
const startedAt = performance.now();
const rows: string[][] = [];
const random = generator(seed);
const log = await recordedLog(seed, Number(process.env["POWER_WRITES"] ?? "300"));
count("the gateway's log", log.length, await losePower(log, { share, random, check: checkLog, onMoment }));
const records = await recordedRecords(20);
count("a client's records", records.length, await losePower(records, { share, random, check: checkRecords, onMoment }));
say(table(["of", "changes and acknowledgements", "moments", "disks opened", "with losses", "broken"], rows));
say(`POWER_SEED=${seed}, ${Math.round((performance.now() - startedAt) / 1_000)} s`);

function count(what: string, steps: number, { moments, disks, lossy, broken }: Losses): void {
  for (const each of broken.slice(0, 50)) say(`  BROKEN: ${what} ${each}`);
  rows.push([what, ...[steps, moments, disks, lossy, broken.length].map(String)]);
  if (broken.length > 0) process.exitCode = 1;
}

function onMoment(nth: number, of: number): void {
  if (nth % 100 === 0) say(`${nth} of ${of}`);
}
