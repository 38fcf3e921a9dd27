import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { hostname, release } from "node:os";
import { processRuns } from "./process-exists.ts";

/**
 * A process that owns something which other processes see: a turn, a record, a lock. The machine is known by its id, never by its name
 * alone: a name changes with the network and with its owner's taste. `boot` and `space` (of process ids) say whose pids can be compared.
 */
export interface ProcessOwner {
  readonly machine: string;
  readonly boot: string;
  readonly space: string;
  readonly pid: number;
  /** When it started, so that a pid that is used again is noticed; "" where the system does not say. */
  readonly started: string;
}

let own: ProcessOwner | undefined;

/** This process as an owner. */
export function ownProcess(): ProcessOwner {
  own ??= { ...placeOf(process.platform), pid: process.pid, started: startOf(process.pid, process.platform) };
  return own;
}

/** Linux gives this number to the processes of the machine itself; those of a container have another one. */
const firstSpace = "pid:[4026531836]";

/**
 * `gone`: the process has certainly ended. `elsewhere`: it ran on another machine or in another container, so that nothing here can tell;
 * then only the end of its lease, or its age, counts.
 */
export function stateOfOwner(owner: ProcessOwner, self: ProcessOwner = ownProcess()): "alive" | "gone" | "elsewhere" {
  const isSameStart = self.boot !== "" && self.space !== "" && owner.boot === self.boot; // its id may be a new one since then
  if (owner.machine !== self.machine && !isSameStart) return "elsewhere";
  if (owner.boot !== self.boot) return isContainer(self) || isContainer(owner) ? "elsewhere" : "gone"; // images may share an id
  if (owner.space !== self.space) return "elsewhere";
  if (!processRuns(owner.pid)) return "gone";
  const started = startOf(owner.pid, process.platform);
  return owner.started !== "" && started !== "" && started !== owner.started ? "gone" : "alive";
}

function isContainer({ space }: ProcessOwner): boolean {
  return space !== "" && space !== digest(firstSpace);
}

/** `machine.boot.space.started/pid`. */
export function spellOwner({ machine, boot, space, pid, started }: ProcessOwner): string {
  return `${machine}.${boot}.${space}.${started}/${pid}`;
}

/** Reads what `spellOwner` wrote; undefined for anything else. */
export function readOwner(text: string): ProcessOwner | undefined {
  const [, machine, boot, space, started, pid] =
    /^([\w-]+)\.([\w-]*)\.([\w-]*)\.([\w-]*)\/(\d+)(?:[/ ]|$)/.exec(text) ?? [];
  if (machine === undefined || boot === undefined || space === undefined || started === undefined) return undefined;
  return { machine, boot, space, started, pid: Number(pid) };
}

function placeOf(platform: NodeJS.Platform): Pick<ProcessOwner, "machine" | "boot" | "space"> {
  const boot = bootOf(platform);
  const machine = machineIdOf(platform) ?? (boot === "" ? hostname() : boot);
  return { machine: digest(machine), boot: boot && digest(boot), space: platform === "linux" ? digest(space()) : "" };
}

/** Source: machine-id(5); ioreg(8), IOPlatformUUID; the registry's MachineGuid. */
function machineIdOf(platform: NodeJS.Platform): string | undefined {
  if (platform === "linux") return read("/etc/machine-id") ?? read("/var/lib/dbus/machine-id");
  if (platform === "darwin")
    return parsePlatformUuid(output("/usr/sbin/ioreg", ["-rd1", "-c", "IOPlatformExpertDevice"]));
  if (platform === "win32")
    return parseMachineGuid(output("reg", ["query", "HKLM\\SOFTWARE\\Microsoft\\Cryptography", "/v", "MachineGuid"]));
  return undefined;
}

/** The `IOPlatformUUID` in the output of macOS's `ioreg`. */
export function parsePlatformUuid(text: string): string | undefined {
  return /"IOPlatformUUID"\s*=\s*"([0-9A-Fa-f-]{36})"/.exec(text)?.[1];
}

/** The value in the output of Windows' `reg query`. */
export function parseMachineGuid(text: string): string | undefined {
  return /^\s*MachineGuid\s+REG_SZ\s+(\S+)/m.exec(text)?.[1];
}

/** Changes with each start of the machine; "" where the system does not say. Source: random(4), boot_id. */
function bootOf(platform: NodeJS.Platform): string {
  if (platform === "linux") return read("/proc/sys/kernel/random/boot_id") ?? "";
  return platform === "darwin" ? output("/usr/sbin/sysctl", ["-n", "kern.bootsessionuuid"]).trim() : "";
}

/**
 * Ids of processes can only be compared within one of these. Source: pid_namespaces(7). Linux inside Windows gives each distribution a
 * space and a machine id of its own, so the id is enough there.
 */
function space(): string {
  const isBox = existsSync("/.dockerenv") || existsSync("/run/.containerenv");
  if (!isBox && /microsoft/i.test(release())) return "";
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

/** Source: proc(5), stat, field 22; ps(1) of macOS, lstart. */
function startOf(pid: number, platform: NodeJS.Platform): string {
  if (platform === "linux") {
    const text = read(`/proc/${pid}/stat`) ?? "";
    return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  }
  const fixed = { LC_ALL: "C", TZ: "UTC" };
  const args = ["-o", "lstart=", "-p", String(pid)];
  const started = platform === "darwin" ? output("/bin/ps", args, fixed).trim() : "";
  return started && digest(started);
}

function digest(text: string): string {
  return text === "" ? "" : createHash("sha256").update(`millrace machine ${text}`).digest("base64url").slice(0, 16);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim() || undefined;
  } catch {
    return undefined; // another system, or a container without it
  }
}

/** The output of a program; "" where it cannot be run. */
function output(program: string, args: readonly string[], env?: Readonly<Record<string, string>>): string {
  const how = { encoding: "utf8", timeout: 2_000, windowsHide: true } as const;
  const { stdout } = spawnSync(program, args, env === undefined ? how : { ...how, env });
  return stdout ?? "";
}
