#!/usr/bin/env node
// No static import (but of types): an old Node must get as far as the sentence below.

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(
    `Millrace needs Node 22.13 or newer; this is ${process.version}. Install a newer Node, or type: npx -y node@24 "${process.argv[1]}" ${process.argv.slice(2).join(" ")}\n`,
  );
  process.exit(69);
}
if (process.versions["deno"] !== undefined) {
  process.stderr.write(
    "Millrace needs Node: Deno gives the programs that it starts no permission. Type: npx millrace\n",
  );
  process.exit(69);
}
if (import.meta.url.includes(".zip/")) {
  process.stderr.write(
    "Millrace cannot start its helpers from inside a zip file, where Yarn keeps it. Type: yarn unplug millrace\n",
  );
  process.exit(69);
}
(await import("../base/node/user.ts")).settleHome(process.env);
// In Bun every HTTP request of the process may go to a proxy, also those to the language server.
if (process.versions["bun"] !== undefined) (await import("../base/node/loopback.ts")).exemptLoopback();
// Node's own answer to SIGUSR1 is an inspector, through which every user of the machine could run code here.
if (process.platform !== "win32") process.on("SIGUSR1", () => undefined);
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0); // `millrace … | head`
  process.stderr.write(`error: The output cannot be written (${error.code ?? error.message}).\n`);
  process.exit(73);
});
// The reader of stderr may have gone, as in `millrace … 2>&1 | head`. That ends nothing: a gateway goes on.
process.stderr.on("error", () => undefined);
// Before anything large is loaded. `uninstall` must not write the cache again at its end.
if (process.argv[2] !== "uninstall") (await import("./compile-cache.ts")).keepCompiled(process);
if (!(await drewStatusLine())) await runCommand();

/** Prints the status line without loading the rest of the CLI, since some bars draw it every second. False if anything else must be printed. */
async function drewStatusLine(): Promise<boolean> {
  if (process.argv[2] !== "statusline") return false;
  const [{ statuslineFast }, { systemClock }, { homedir }] = await Promise.all([
    import("./statusline-fast.ts"),
    import("../base/clock.ts"),
    import("node:os"),
  ]);
  const world = { env: process.env, homeFolder: homedir(), nowMs: systemClock.now() };
  const line = statuslineFast(process.argv.slice(3), world);
  if (line !== undefined && line !== "") process.stdout.write(`${line}\n`);
  return line !== undefined;
}

async function runCommand(): Promise<void> {
  // Loaded first, and once: on Node 22 without the warning that the first import would print.
  (await import("../base/node/load-sqlite.ts")).loadSqlite();
  const [{ main }, { systemClock }, { homedir }] = await Promise.all([
    import("./main.ts"),
    import("../base/clock.ts"),
    import("node:os"),
  ]);
  const stop = new AbortController();
  let stoppedAt = 0;
  const hasTerminal = process.stdin.isTTY || process.stdout.isTTY;
  // On Windows a closed console sends SIGHUP, and Ctrl-Break SIGBREAK, which other systems do not have.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"] as const) {
    process.on(signal, () => {
      // With a terminal, it means that the terminal is gone. Without one it is ignored, as `nohup` promises.
      if (signal === "SIGHUP" && process.platform !== "win32" && !hasTerminal) return;
      if (stop.signal.aborted) {
        // A person who asks again means: at once. But npm passes on the Ctrl-C that the terminal sends to both, some ms later.
        if (systemClock.monotonic() - stoppedAt > 500) process.exit(130);
        return;
      }
      stoppedAt = systemClock.monotonic();
      stop.abort(Object.assign(new DOMException("This operation was aborted", "AbortError"), { by: signal }));
    });
  }
  process.exitCode = await main(process.argv.slice(2), {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    platform: process.platform,
    homeFolder: homedir(),
    clock: systemClock,
    signal: stop.signal,
  });
  // The command is done. An idle connection or an unused deadline may still hold the event loop, and must not keep the
  // process; a pipe that still drains has this long.
  setTimeout(() => process.exit(), 1000).unref();
}
