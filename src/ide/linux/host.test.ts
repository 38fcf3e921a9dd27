import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { openLinuxHost } from "./host.ts";

const signal = new AbortController().signal;

it("takes a process for the same one after the clock was set, which moves the time of the boot with it", async () => {
  const home = temporaryFolder();
  await mkdir(join(home, "42"));
  await writeFile(join(home, "42/stat"), `42 (server) S 1 ${"0 ".repeat(17)}123456 0`);
  await writeFile(join(home, "42/cmdline"), "server\0");
  const host = openLinuxHost({ home, uid: 0, clock: systemClock, procRoot: home });
  await writeFile(join(home, "stat"), "btime 1760000000\n");
  const before = await host.readProcess(42, signal);
  await writeFile(join(home, "stat"), "btime 1760003600\n");
  expect(before?.startedAtMs).toBe(1_760_001_234_560);
  expect(await host.readProcess(42, signal)).toEqual(before);
});
