import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { bundleFolder } from "./gateway-process.ts";

/** Where there is no such program, tests on a terminal are left out. */
export const hasTerminals = existsSync("/usr/bin/script");

/** Runs a command line of Millrace on a terminal of its own. */
export function onTerminal(args: readonly string[], { home }: { readonly home: string }) {
  const command = [process.execPath, join(bundleFolder(), "bin.js"), ...args].map((word) => `'${word}'`).join(" ");
  const env = { HOME: home, MILLRACE_IDE_ONLY_HOME: home, MILLRACE_PORT: "0", TERM: "xterm", NO_COLOR: "1" };
  const terminal = spawn("script", ["-qefc", command, "/dev/null"], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { PATH: "/usr/bin:/bin", ...env },
  });
  let text = "";
  const readers = new Set<() => void>();
  terminal.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    for (const look of readers) look();
  });
  const ended = once(terminal, "close").then(([code]) => code as number | null);
  return {
    /** The exit code, once the command has ended or the terminal was closed. */
    ended,
    /** All that was written on it so far. */
    text: () => text,
    type: (line: string) => terminal.stdin.write(`${line}\n`),
    /** Resolves once the pattern was written on it; rejects if it ends before. */
    shows(pattern: RegExp): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const look = () => {
        if (pattern.test(text)) resolve();
      };
      readers.add(look);
      look();
      void ended.then(() => reject(new Error(`The terminal ended without ${String(pattern)}: ${text}`)));
      return promise.finally(() => readers.delete(look));
    },
    /** As a person closes its window: the programs on it get a SIGHUP. */
    async close(): Promise<void> {
      terminal.kill("SIGKILL");
      await ended;
    },
  };
}
