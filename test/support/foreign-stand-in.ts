import { spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { testBundle } from "../../scripts/bundle/test-bundle.ts";
import useTestBundle from "./bundle.ts";
import { bundleFolder } from "./gateway-process.ts";

/** Someone who is not the user of the tests; only root can start a program as somebody else. */
const nobody = 65_534;

/** IDEs on other sides of this machine: in a container with a network of its own, and of another user. */
const sides = [
  { name: "in a container", command: ["unshare", "--user", "--map-root-user", "--net"], uid: undefined },
  {
    name: "of another user",
    command: ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"],
    uid: nobody,
  },
] as const;

/**
 * Beside the tests that start real processes run IDEs that are no test's own, as on the machine of a contributor. A test sees only what
 * it starts itself, so none of them is called. If the one that could be called is called, the run fails.
 */
export default async function setup(): Promise<() => Promise<void>> {
  useTestBundle();
  await testBundle(bundleFolder());
  const { startSimulator } = await import("../../simulator/index.ts"); // it reads where the bundle is
  const ide = await startSimulator({ unmarked: true });
  const others = await Promise.all(sides.map(startOnSide));
  return async () => {
    const { calls, refused } = await ide.report();
    await ide.stop();
    rmSync(ide.home, { recursive: true, force: true });
    for (const stop of others) await stop();
    const called = Object.entries({ ...calls, ...refused }).flatMap(([name, count]) => (count > 0 ? [name] : []));
    if (called.length > 0)
      throw new Error(
        `A test called an IDE that it did not start (${called.join(", ")}): give it MILLRACE_IDE_ONLY_HOME.`,
      );
  };
}

/** Starts one, where this machine allows it, and returns what ends it. */
async function startOnSide({ name, command, uid }: (typeof sides)[number]): Promise<() => Promise<void>> {
  const [program, ...args] = command;
  if (process.platform !== "linux" || spawnSync(program, [...args, "true"]).status !== 0) {
    process.stderr.write(`Without an IDE ${name}: this machine does not allow it.\n`);
    return async () => {};
  }
  const home = mkdtempSync(join(tmpdir(), "foreign-"));
  const config = join(home, "stand-in.json");
  writeFileSync(config, JSON.stringify({ unmarked: true }));
  if (uid !== undefined) {
    chmodSync(tmpdir(), 0o711); // the run's own folder
    chownSync(home, uid, uid);
    chownSync(config, uid, uid);
  }
  const simulate = [join(bundleFolder(), "bin.js"), "simulate", "--json", "--home", home, "--config", config];
  const child = spawn(program, [...args, process.execPath, ...simulate], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"] ?? "", HOME: home, TMPDIR: home },
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const ready = new Promise<boolean>((resolve) =>
    createInterface({ input: child.stdout }).once("line", () => resolve(true)),
  );
  if (!(await Promise.race([ready, ended.then(() => false)])))
    process.stderr.write(`Without an IDE ${name}: it did not start.\n`);
  return async () => {
    child.kill();
    await ended;
    rmSync(home, { recursive: true, force: true });
  };
}
