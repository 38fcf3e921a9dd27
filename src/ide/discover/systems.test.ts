import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { systemClock } from "../../base/clock.ts";
import { createWireIds } from "../../language-server/metadata.ts";
import { openLanguageServer } from "../../language-server/open-language-server.ts";
import { probePort } from "../../language-server/probe/probe.ts";
import { openDarwinHost } from "../darwin/host.ts";
import { type FakeSystem, installFakeSystem } from "../fake-system.fake.ts";
import type { Host } from "../host/host.ts";
import { commandRunner } from "../host/run-command.ts";
import type { DiscoveryResult, IdeFinder } from "../ide.ts";
import { openLinuxHost } from "../linux/host.ts";
import { onlyProcesses } from "../stand-in-process.fake.ts";
import { openWindowsHost } from "../windows/host.ts";
import { openIdeFinder } from "./finder.ts";
import { noOverrides } from "./overrides.ts";

const signal = new AbortController().signal;
const common = { home: "/nonexistent", clock: systemClock };
const uid = process.getuid?.() ?? -1;

type System = "linux" | "darwin" | "win32";
/** The profiles that run on each system: a token in the environment, one in the arguments, a path with blanks. Parsers alone are tested beside them. */
const profiles = {
  linux: ["windsurf-2"],
  darwin: ["windsurf-2", "windsurf-next"],
  win32: ["windsurf-2", "windsurf-1.9544"],
} as const;

/** The whole pipeline, its real prober and client, against the stand-in IDE, seen as each system shows it. */
describe.runIf(process.platform === "linux")("finding the stand-in IDE", () => {
  let folder: string;
  let fake: FakeSystem;
  const simulators = new Map<System, readonly Simulator[]>();
  const finders: IdeFinder[] = [];

  const pids = (system: System) => (simulators.get(system) ?? []).map(({ pid }) => pid);
  const hosts: Readonly<Record<System, (mode?: string) => Host>> = {
    linux: () => onlyProcesses(openLinuxHost({ ...common, uid }), () => pids("linux")),
    darwin: () => openDarwinHost({ ...common, uid, run: commandRunner(fake.environment(pids("darwin"))) }),
    win32: (mode) =>
      openWindowsHost({
        ...common,
        systemRoot: undefined,
        run: commandRunner(fake.environment(pids("win32"), mode)),
      }),
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-systems-"));
    fake = await installFakeSystem(folder);
    for (const platform of ["linux", "darwin", "win32"] as const) {
      const started = profiles[platform].map((profile) =>
        startSimulator({ profile, platform, signedOut: profile === "windsurf-next" }),
      );
      simulators.set(platform, await Promise.all(started));
    }
  }, 60_000);
  afterAll(async () => {
    for (const finder of finders) finder.close();
    for (const simulator of [...simulators.values()].flat()) await simulator.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function open(host: Host): IdeFinder {
    const ids = createWireIds(systemClock);
    const finder = openIdeFinder({
      host,
      clock: systemClock,
      probe: probePort,
      connect: (endpoint, identity) => openLanguageServer(endpoint, identity, { clock: systemClock, ids }),
      overrides: noOverrides,
    });
    finders.push(finder);
    return finder;
  }

  /** The result, in the words of the simulators. */
  const found = ({ ides }: DiscoveryResult) =>
    ides
      .map((ide) => ({ pid: ide.pid, port: ide.endpoint.port, version: ide.build, signedIn: ide.signedIn }))
      .sort(byPid);
  const expected = (system: System) =>
    (simulators.get(system) ?? [])
      .map((one) => ({
        pid: one.pid,
        port: one.port,
        version: one.ideVersion,
        signedIn: one.profile.name !== "windsurf-next",
      }))
      .sort(byPid);

  it.each([
    ["Linux, through /proc", "linux", ""],
    ["macOS, through ps and lsof", "darwin", ""],
    ["Windows, through PowerShell", "win32", ""],
    ["Windows, where PowerShell unrolls lists", "win32", "unrolled"],
    ["Windows, with netstat for the ports", "win32", "no-net-module"],
  ] as const)("works on %s", async (_, system, mode) => {
    const finder = open(hosts[system](mode));
    const result = await finder.find(signal);
    expect(found(result)).toEqual(expected(system));
    const [ide] = result.ides;
    const simulator = simulators.get(system)?.find(({ pid }) => pid === ide?.pid);
    if (ide === undefined || simulator === undefined) throw new Error("found something else");
    expect(ide.identity.apiKey.equals(simulator.apiKey)).toBe(true);
    const server = await finder.connect(ide, signal);
    await server.ping(signal);
    expect((await server.getUserStatus(signal)).email).not.toBe("");
    const shown = JSON.stringify(result);
    for (const secret of [simulator.apiKey, simulator.csrfToken]) expect(shown).not.toContain(secret.reveal());
  });

  it.each(["linux", "darwin", "win32"] as const)(
    "notices a restart on %s: new process, port and token",
    async (system) => {
      const finder = open(hosts[system]());
      const [simulator] = simulators.get(system) ?? [];
      const before = (await finder.find(signal)).ides.find(({ pid }) => pid === simulator?.pid);
      if (before === undefined || simulator === undefined) throw new Error("nothing found");
      await simulator.restart({ crash: true });
      await expect(finder.connect(before, signal)).rejects.toMatchObject({ code: "ide_not_running" });
      // The fake programs show the processes that there were when their host was opened.
      const after = system === "linux" ? finder : open(hosts[system]());
      expect(found(await after.find(signal))).toEqual(expected(system));
    },
  );

  it.each([
    ["blocked", /PowerShell did not answer in the form/],
    ["slow", /powershell took longer than 5 s/],
  ])("goes on without the language servers of Windows where PowerShell is %s, and says so", async (mode, why) => {
    const { ides, trace } = await open(hosts.win32(mode)).find(signal);
    expect(ides).toEqual([]);
    expect(trace).toContainEqual(expect.objectContaining({ rule: "processes", why: expect.stringMatching(why) }));
  });

  it("says which program is missing", async () => {
    const run = commandRunner({ PATH: "/nonexistent" });
    const { trace } = await open(openWindowsHost({ ...common, systemRoot: undefined, run })).find(signal);
    expect(trace[0]?.why).toBe("powershell is not on this system's PATH");
  });
});

function byPid(a: { readonly pid: number | undefined }, b: { readonly pid: number | undefined }): number {
  return (a.pid ?? 0) - (b.pid ?? 0);
}
