import { mkdtempSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../base/clock.ts";
import { openDarwinHost } from "../darwin/host.ts";
import { installFakeSystem } from "../fake-system.fake.ts";
import { onlyProcesses, type StandIn, startStandIn } from "../stand-in-process.fake.ts";
import { openWindowsHost } from "../windows/host.ts";
import { describeHost, type HostedOptions, type HostHarness } from "./host.conformance.ts";
import { FakeHost } from "./host.fake.ts";
import type { Host } from "./host.ts";
import { openHost } from "./open-host.ts";
import { commandRunner } from "./run-command.ts";

const uid = process.getuid?.();
const isLinux = process.platform === "linux";
const nobody = 65_534;

/** Real processes, seen through a host; each test's own only. */
async function realMachine(
  open: (pids: () => readonly number[], folder: string) => Promise<Host>,
): Promise<HostHarness> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-host-"));
  const running: StandIn[] = [];
  const pids = () => running.map(({ pid }) => pid);
  let files = 0;
  const host = onlyProcesses(await open(pids, folder), pids);
  return {
    host,
    async start({ program, flags, environment, ports, sharing, otherUser }: HostedOptions) {
      // Windows starts no program without the first, and calls a home by the second.
      const needed = { SystemRoot: process.env["SystemRoot"] ?? "", USERPROFILE: environment["HOME"] ?? "" };
      const standIn = await startStandIn({
        program,
        flags,
        environment: { ...needed, ...environment },
        token: "",
        ports,
        reusePort: true,
        ...(sharing === undefined ? {} : { port: sharing }),
        ...(otherUser === true ? { uid: nobody } : {}),
      });
      running.push(standIn);
      return standIn;
    },
    async writeText(text) {
      const path = join(folder, `text-${files++}`);
      await writeFile(path, text);
      return path;
    },
    async writeState(values) {
      const path = join(folder, `state-${files++}.vscdb`);
      const database = new DatabaseSync(path);
      database.exec("CREATE TABLE ItemTable(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
      const insert = database.prepare("INSERT INTO ItemTable VALUES(?, ?)");
      for (const [key, value] of Object.entries(values)) insert.run(key, value);
      database.close();
      return path;
    },
    async dispose() {
      for (const standIn of running) await standIn.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Whichever system the tests run on, through its own programs. */
describeHost(`this system (${process.platform})`, { otherUsers: isLinux && uid === 0, sharedPorts: isLinux }, () =>
  realMachine(async () =>
    openHost({ platform: process.platform, uid, home: homedir(), environment: process.env, clock: systemClock }),
  ),
);

const common = { home: homedir(), clock: systemClock };
const truthfulPrograms = { otherUsers: uid === 0, sharedPorts: true };

/** The other systems' hosts, where `/proc` can tell their programs' stand-ins the truth. */
if (isLinux) {
  describeHost("macOS, through programs that print what its own print", truthfulPrograms, () =>
    realMachine(async (pids, folder) => {
      const fake = await installFakeSystem(join(folder, "bin"));
      return openDarwinHost({
        ...common,
        uid: uid ?? -1,
        run: (...call) => commandRunner(fake.environment(pids()))(...call),
      });
    }),
  );
  describeHost("Windows, through programs that print what its own print", truthfulPrograms, () =>
    realMachine(async (pids, folder) => {
      const fake = await installFakeSystem(join(folder, "bin"));
      const run = (...call: Parameters<ReturnType<typeof commandRunner>>) =>
        commandRunner(fake.environment(pids()))(...call);
      return openWindowsHost({ ...common, systemRoot: undefined, run });
    }),
  );
}

describeHost("a fake, in memory", { otherUsers: true, sharedPorts: true }, async () => {
  const host = new FakeHost();
  let next = 40_000;
  return {
    host,
    async start({ program, flags, environment, ports, sharing, otherUser }) {
      const pid = next++;
      const listening = Array.from({ length: ports }, () => sharing ?? next++);
      host.add({
        row: {
          pid,
          parentPid: 1,
          owner: otherUser === true ? "other" : "self",
          startedAtMs: Date.now(),
          command: { program, args: flags },
          zombie: false,
          elsewhere: undefined,
        },
        environment,
        listening: listening.map((port) => ({ address: "127.0.0.1", port, shared: false })),
      });
      return { pid, ports: listening, stop: async () => void host.processes.delete(pid) };
    },
    async writeText(text) {
      host.texts.set("/text", text);
      return "/text";
    },
    async writeState(values) {
      host.states.set("/state", values);
      return "/state";
    },
    async dispose() {},
  };
});
