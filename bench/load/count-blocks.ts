import { writeFileSync } from "node:fs";

/**
 * Loaded into a gateway before its program: notes how much processor time its main thread takes between two calls of a timer of
 * 1 ms, which is how long anything else there had to wait. `MILLRACE_BLOCKS` names the file that gets them at the end.
 */
export interface Block {
  /** On the clock of the CPU profile; µs. */
  readonly endsAtMicros: number;
  readonly cpuMs: number;
}

const file = process.env["MILLRACE_BLOCKS"];
const leastMs = 10;
const blocks: Block[] = [];
let before = process.threadCpuUsage();
setInterval(() => {
  const { user, system } = process.threadCpuUsage(before);
  before = process.threadCpuUsage();
  const cpuMs = (user + system) / 1_000;
  if (cpuMs >= leastMs) blocks.push({ endsAtMicros: Number(process.hrtime.bigint() / 1_000n), cpuMs });
}, 1).unref();
process.on("exit", () => {
  if (file !== undefined) writeFileSync(file, JSON.stringify(blocks));
});
