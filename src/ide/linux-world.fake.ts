import { mkdtempSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../base/clock.ts";
import { discover } from "./discover/discover.ts";
import { type IdeOverrides, noOverrides } from "./discover/overrides.ts";
import type { Host } from "./host/host.ts";
import type { Ide, TraceEntry } from "./ide.ts";
import { openLinuxHost } from "./linux/host.ts";
import {
  onlyProcesses,
  probeStandIn,
  type StandIn,
  type StandInOptions,
  startStandIn,
} from "./stand-in-process.fake.ts";

/** The token that stand-ins take unless told otherwise. */
export const token = "0f0e0d0c-1111-4222-8333-444455556666";
export const apiKey = "sk-ws-01-planted-key-that-must-not-appear";
/** Where packages put the server. */
export const installed = "/usr/share/windsurf/resources/app/extensions/windsurf/bin/language_server_linux_x64";
export const newTokenFlags = ["--ide_name", "windsurf", "--random_port", "--windsurf_version", "2.2.17"];
const never = new AbortController().signal;

/** A home folder and real processes on this Linux; discovery sees them and no other test's. */
export class LinuxWorld {
  readonly home = mkdtempSync(join(tmpdir(), "millrace-ide-"));
  readonly running: StandIn[] = [];
  readonly uid = process.getuid?.() ?? -1;

  get host(): Host {
    return openLinuxHost({ home: "/nonexistent", uid: this.uid, clock: systemClock });
  }

  /** A stand-in that takes the token, in this home unless told otherwise. */
  async start(options: Partial<StandInOptions> & { readonly flags: readonly string[] }): Promise<StandIn> {
    const standIn = await startStandIn({ program: installed, environment: { HOME: this.home }, token, ...options });
    this.running.push(standIn);
    return standIn;
  }

  /** Writes a state database that holds an API key into an IDE's data folder. */
  async signIn(folder: string, key = apiKey): Promise<void> {
    await mkdir(join(folder, "User", "globalStorage"), { recursive: true });
    const database = new DatabaseSync(join(folder, "User", "globalStorage", "state.vscdb"));
    database.exec("CREATE TABLE ItemTable(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
    database.prepare("INSERT INTO ItemTable VALUES(?, ?)").run("windsurfAuthStatus", JSON.stringify({ apiKey: key }));
    database.close();
  }

  /** One discovery. */
  async look(
    overrides: Partial<IdeOverrides> = {},
    host: Host = this.host,
    pids: () => readonly number[] = () => this.running.map(({ pid }) => pid),
  ): Promise<{ readonly ides: readonly Ide[]; readonly trace: readonly TraceEntry[] }> {
    const { ides, trace } = await discover(
      {
        host: onlyProcesses(host, pids),
        probe: probeStandIn,
        overrides: { ...noOverrides, ...overrides },
        lastGood: new Map(),
      },
      never,
    );
    return { ides, trace: trace.entries };
  }

  async close(): Promise<void> {
    for (const standIn of this.running) await standIn.stop();
    await rm(this.home, { recursive: true, force: true });
  }
}
