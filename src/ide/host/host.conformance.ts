import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { classify } from "../process/classify.ts";
import { lastFlag, parseFlags } from "../process/command-line.ts";
import type { Host, ProcessRow } from "./host.ts";

/** The parts of a machine that a test can set up; cases that need more are skipped, and the suite's output names the reason. */
export interface HostCapabilities {
  /** Processes of other users can be made. */
  readonly otherUsers: boolean;
  /** Two processes can listen on one port. */
  readonly sharedPorts: boolean;
}

/** A process that a test starts. */
export interface HostedProcess {
  readonly pid: number;
  /** The ports that the test chose, then the ports that the process chose. */
  readonly ports: readonly number[];
  stop(): Promise<void>;
}

export interface HostedOptions {
  /** The program as it names itself; its folder may hold blanks. */
  readonly program: string;
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** How many loopback ports it listens on. */
  readonly ports: number;
  /** Listens on this port beside the process that already does. */
  readonly sharing?: number;
  readonly otherUser?: boolean;
}

/** A machine with one host on it. */
export interface HostHarness {
  readonly host: Host;
  start(options: HostedOptions): Promise<HostedProcess>;
  /** Puts a text file there, and names its path. */
  writeText(text: string): Promise<string>;
  /** Puts an IDE's state database there, and names its path. */
  writeState(values: Readonly<Record<string, string>>): Promise<string>;
  dispose(): Promise<void>;
}

const never = new AbortController().signal;
const token = "0f0e0d0c-1111-4222-8333-444455556666";
const anything = () => true;

/** The cases that every host passes; the same cases in the same order for each. */
export function describeHost(
  name: string,
  capabilities: HostCapabilities,
  makeHarness: () => Promise<HostHarness>,
): void {
  describe(`host: ${name}`, () => {
    let harness: HostHarness;
    let host: Host;
    let windsurf: HostedProcess;
    let next: HostedProcess;
    let short: HostedProcess;
    let startedAfterMs: number;

    beforeAll(async () => {
      harness = await makeHarness();
      ({ host } = harness);
      startedAfterMs = Date.now() - 15_000; // start times have a grain, and a machine's uptime an error
      const folder = "/opt/Windsurf - Next/resources/app/extensions/windsurf/bin";
      [windsurf, next, short] = await Promise.all([
        harness.start({
          program: "/usr/share/windsurf/resources/app/extensions/windsurf/bin/language_server_linux_x64",
          flags: ["--ide_name", "windsurf", "--random_port", "--windsurf_version=2.2.17"],
          environment: { HOME: "/home/ann lee", WINDSURF_CSRF_TOKEN: token, MILLRACE_EMPTY: "" },
          ports: 2,
        }),
        harness.start({
          program: `${folder}/language_server_linux_x64`,
          flags: ["--run_child", "--codeium_dir", ".codeium/windsurf-next"],
          environment: { HOME: "/home/me" },
          ports: 0,
        }),
        harness.start({ program: "short-lived", flags: [], environment: { HOME: "/home/me" }, ports: 1 }),
      ]);
    }, 60_000);
    afterAll(() => harness.dispose());

    async function rowOf({ pid }: HostedProcess): Promise<ProcessRow> {
      const row = await host.readProcess(pid, never);
      if (row === undefined) throw new Error(`process ${pid} is not there`);
      return row;
    }

    async function portsOf({ pid }: HostedProcess) {
      const answer = await host.listListening(pid, never);
      if (!answer.ok) throw new Error(answer.why);
      return answer.value;
    }

    test("lists the processes whose command line passes, and says how many it looked at", async () => {
      const list = await host.listProcesses(({ args }) => args.includes("--random_port"), never);
      if (!list.ok) throw new Error(list.why);
      expect(list.value.processes.map(({ pid }) => pid)).toEqual([windsurf.pid]);
      expect(list.value.looked).toBeGreaterThanOrEqual(3);
      expect(list.value.source).not.toBe("");
    });

    test("reports program, flags, user and age of each", async () => {
      const row = await rowOf(windsurf);
      expect(row).toMatchObject({ pid: windsurf.pid, owner: "self", zombie: false, elsewhere: undefined });
      expect(lastFlag(parseFlags(row.command.args), "windsurf_version")).toBe("2.2.17");
      expect(row.startedAtMs).toBeGreaterThan(startedAfterMs);
      expect(row.startedAtMs).toBeLessThanOrEqual(Date.now() + 2_000);
      expect(classify(row.command)).toMatchObject({ kind: "server", variant: "windsurf", rule: "ide-name" });
    });

    test("keeps a path with blanks whole", async () => {
      const { command } = await rowOf(next);
      expect(classify(command)).toMatchObject({ kind: "server", variant: "windsurf-next", rule: "path" });
    });

    test("names the same process by the same start on every reading, listed or asked for", async () => {
      const list = await host.listProcesses(anything, never);
      const listed = list.ok ? list.value.processes.find(({ pid }) => pid === windsurf.pid) : undefined;
      expect(await rowOf(windsurf)).toEqual(listed);
      expect(await rowOf(windsurf)).toEqual(listed);
    });

    test("reads variables as they are, blanks and all", async () => {
      const environment = await host.readEnvironment(await rowOf(windsurf), never);
      if (!environment.ok) throw new Error(environment.why);
      expect(environment.value.get("WINDSURF_CSRF_TOKEN")).toBe(token);
      const home = host.platform === "windows" ? "USERPROFILE" : "HOME";
      expect(environment.value.get(home)).toBe("/home/ann lee");
    });

    test("lists the ports of one process and of no other", async () => {
      const own = windsurf.ports.map((port) => ({ address: "127.0.0.1", port, shared: false }));
      expect((await portsOf(windsurf)).toSorted((a, b) => a.port - b.port)).toEqual(
        own.toSorted((a, b) => a.port - b.port),
      );
      expect(await portsOf(next)).toEqual([]);
    });

    test.skipIf(!capabilities.sharedPorts)(
      "reports a port that two processes listen on as shared, for both",
      async () => {
        const [port = 0] = short.ports;
        const squatter = await harness.start({
          program: "squatter",
          flags: [],
          environment: {},
          ports: 1,
          sharing: port,
        });
        for (const process of [short, squatter])
          expect(await portsOf(process)).toEqual([{ address: "127.0.0.1", port, shared: true }]);
        await squatter.stop();
        expect(await portsOf(short)).toEqual([{ address: "127.0.0.1", port, shared: false }]);
      },
    );

    test.skipIf(!capabilities.otherUsers)("recognises a process of another user", async () => {
      const theirs = await harness.start({
        program: "/usr/share/windsurf/bin/language_server_linux_x64",
        flags: ["--ide_name", "windsurf"],
        environment: {},
        ports: 0,
        otherUser: true,
      });
      expect(await rowOf(theirs)).toMatchObject({ owner: "other" });
      await theirs.stop();
    });

    test("answers about a process that has ended, and throws nothing", async () => {
      const row = await rowOf(short);
      expect(host.isAlive(short.pid)).toBe(true);
      await short.stop();
      expect(host.isAlive(short.pid)).toBe(false);
      expect(await host.readProcess(short.pid, never)).toBeUndefined();
      const environment = await host.readEnvironment(row, never);
      expect(environment.ok ? environment.value.size : 0).toBe(0);
      const sockets = await host.listListening(short.pid, never);
      expect(sockets.ok ? sockets.value : []).toEqual([]);
      const list = await host.listProcesses(anything, never);
      expect(list.ok && list.value.processes.some(({ pid }) => pid === short.pid)).toBe(false);
    });

    test("tells who listens on a port", async () => {
      const [{ port } = { port: 0 }] = await portsOf(windsurf);
      expect(await host.holderOf(port, never)).toMatchObject({
        pid: windsurf.pid,
        command: { args: expect.anything() },
      });
      expect(await host.holderOf(1, never)).toBeUndefined();
    });

    test("reads a text of at most so many bytes, and nothing else", async () => {
      const path = await harness.writeText("eight by");
      expect(await host.readText(path, 8, never)).toBe("eight by");
      expect(await host.readText(path, 7, never)).toBeUndefined();
      expect(await host.readText(`${path}.none`, 8, never)).toBeUndefined();
      expect(await host.listFolder(`${path}.none`, never)).toEqual([]);
    });

    test("reads the keys asked for from a state database", async () => {
      const path = await harness.writeState({ windsurfAuthStatus: '{"apiKey":"k"}', other: "o" });
      const read = await host.readState(path, ["windsurfAuthStatus", "absent"], never);
      expect(read).toEqual({ kind: "read", values: new Map([["windsurfAuthStatus", '{"apiKey":"k"}']]) });
      expect(await host.readState(`${path}.none`, ["a"], never)).toEqual({ kind: "missing" });
    });

    test("reads all keys of a state database that begin as asked for", async () => {
      const path = await harness.writeState({ "plan:user-a": "1", "plan:user-b": "2", plan: "3", "other:plan:": "4" });
      expect(await host.readState(path, ["plan:*", "absent:*"], never)).toEqual({
        kind: "read",
        values: new Map([
          ["plan:user-a", "1"],
          ["plan:user-b", "2"],
        ]),
      });
    });

    test("reports a file with its last change, and a missing file as missing", async () => {
      const path = await harness.writeText("eight by");
      const facts = await host.fileFacts(path, never);
      expect(facts).toMatchObject({ kind: "file", realPath: expect.stringContaining("text") });
      expect(Number.isFinite(facts?.modifiedMs)).toBe(true);
      expect(await host.fileFacts(`${path}.none`, never)).toBeUndefined();
      await expect(host.fileFacts(path, AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
    });

    test("says where it runs, or nothing", async () => {
      for (const surrounding of await host.surroundings(never))
        expect(["wsl", "container", "flatpak"]).toContain(surrounding);
    });

    test("ends every call with the signal's reason", async () => {
      const row = await rowOf(windsurf);
      const gone = AbortSignal.abort(new Error("enough"));
      await expect(host.listProcesses(anything, gone)).rejects.toThrow("enough");
      await expect(host.readProcess(row.pid, gone)).rejects.toThrow("enough");
      await expect(host.readEnvironment(row, gone)).rejects.toThrow("enough");
      await expect(host.listListening(row.pid, gone)).rejects.toThrow("enough");
      await expect(host.readText("/nowhere", 1, gone)).rejects.toThrow("enough");
      await expect(host.listFolder("/nowhere", gone)).rejects.toThrow("enough");
    });
  });
}
