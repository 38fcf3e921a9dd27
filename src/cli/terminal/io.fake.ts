import { PassThrough } from "node:stream";
import { type Clock, systemClock } from "../../base/clock.ts";
import type { Io } from "./output.ts";

/** An `Io` in memory: what a command wrote is read back from `stdout()` and `stderr()`. Its commands find IDEs in its own home only. */
export function fakeIo(options: {
  readonly homeFolder: string;
  readonly env?: Io["env"];
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly platform?: NodeJS.Platform;
}): Io & {
  readonly written: { stdout(): string; stderr(): string };
} {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const kept = { stdout: "", stderr: "" };
  stdout.on("data", (chunk: Buffer) => (kept.stdout += chunk.toString()));
  stderr.on("data", (chunk: Buffer) => (kept.stderr += chunk.toString()));
  return {
    stdin,
    stdout,
    stderr,
    env: { MILLRACE_IDE_ONLY_HOME: options.homeFolder, ...options.env },
    platform: options.platform ?? process.platform,
    homeFolder: options.homeFolder,
    clock: options.clock ?? systemClock,
    signal: options.signal ?? new AbortController().signal,
    written: { stdout: () => kept.stdout, stderr: () => kept.stderr },
  };
}
