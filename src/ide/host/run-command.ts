import { execFile } from "node:child_process";
import type { HostResult } from "./host.ts";

/** Runs a program with a list of arguments, never through a shell, and returns its output. */
export type RunCommand = (
  program: string,
  args: readonly string[],
  options: {
    readonly limitMs: number;
    readonly environment?: Readonly<Record<string, string>>;
    /** Also return what the program wrote to stderr. It may hold anything, so only a command that the user asked for shows it. */
    readonly withStderr?: boolean;
  },
  signal: AbortSignal,
) => Promise<HostResult<CommandOutput>>;

export interface CommandOutput {
  readonly stdout: string;
  readonly exitCode: number;
  /** Only where it was asked for, and the program failed. */
  readonly stderr?: string;
}

const maxOutputBytes = 32 * 1024 * 1024;

/**
 * The real one. Programs are looked up in the `PATH` of `environment`, and inherit it. A program that is missing, takes too long (it
 * is killed) or prints too much is a result; only the signal's reason is thrown. Stderr is dropped unless it is asked for.
 */
export function commandRunner(environment: Readonly<Record<string, string | undefined>>): RunCommand {
  return (program, args, options, signal) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const fail = (error: Parameters<typeof whyNot>[1]) =>
        resolve({ ok: false, why: whyNot(program, error, options.limitMs) });
      const settings = {
        env: { ...environment, ...options.environment },
        timeout: options.limitMs,
        killSignal: "SIGKILL",
        maxBuffer: maxOutputBytes,
        windowsHide: true,
        shell: false,
        encoding: "utf8",
        signal,
      } as const;
      try {
        execFile(program, [...args], settings, (error, stdout, stderr) => {
          if (signal.aborted) {
            reject(signal.reason as Error); // passed on as the aborter gave it
          } else if (error === null) {
            resolve({ ok: true, value: { stdout, exitCode: 0 } });
          } else if (typeof error.code === "number") {
            const said = options.withStderr === true ? { stderr } : {};
            resolve({ ok: true, value: { stdout, exitCode: error.code, ...said } });
          } else fail(error);
        }).stdin?.end();
      } catch (error) {
        fail(error as NodeJS.ErrnoException); // Node throws what is wrong with the file itself, as a system without a right to it does
      }
    });
}

function whyNot(
  program: string,
  error: { readonly code?: unknown; readonly killed?: boolean },
  limitMs: number,
): string {
  const name = program.replace(/^.*[\\/]/, "");
  if (error.code === "ENOENT") return `${name} is not on this system's PATH`;
  if (error.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") return `${name} printed more than anyone can use`;
  if (error.killed === true) return `${name} took longer than ${limitMs / 1000} s`;
  return `${name} could not be run`;
}
