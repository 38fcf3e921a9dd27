import { existsSync, statSync, utimesSync } from "node:fs";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import { withFileLock } from "../../base/node/file-lock.ts";
import { removeSync } from "../../base/node/move-file.ts";
import { ownProcess, readOwner, spellOwner, stateOfOwner } from "../../base/node/process-owner.ts";
import { spellAge } from "../terminal/spell.ts";
import { type GatewayRecord, readGatewayRecord, writeGatewayFile } from "./gateway-file.ts";

/** The home of a gateway, which no other gateway has meanwhile. */
export interface Home {
  readonly instance: string;
  /** From now on other commands find the gateway there. */
  serves(at: Pick<GatewayRecord, "url" | "socket">): void;
  /** From now on no command finds the gateway, and the next gateway waits for its end. */
  stops(): void;
  /** Frees the home. */
  leave(): void;
}

/** How often it is looked whether the file is there; ms. A row of docs/dev/turn-machine.md. */
const keepEveryMs = 5_000;
/** How long a gateway elsewhere has to answer through the file; ms. More than two looks of it. */
const answerMs = 12_000;
/** How long a gateway has to end its answers once it stops; ms. Later its service manager kills it, and commands give up waiting. */
export const stopMs = 30_000;
const lookEveryMs = 50;
/** The time that a file gets as a question; s since the epoch. Every file system can hold it. */
const questionSeconds = 1_000_000_000;

/**
 * Takes the home of this gateway file, until `leave`. A gateway whose process has ended has no home: the system knows its pid, its start
 * and its boot. One that is stopping is waited for. One of another machine or container is asked through the file (`answersElsewhere`).
 * Where the file cannot be written, the gateway has its home all the same, unless the file names a living one.
 *
 * @throws MillraceError `invalid_request` that names the gateway that has the home.
 * Source: test/e2e/one-gateway.test.ts.
 */
export async function takeHome(
  file: string,
  claim: Omit<GatewayRecord, "url" | "socket" | "isStopping" | "owner">,
  { clock, note }: { readonly clock: Clock; readonly note: (text: string) => void },
  signal: AbortSignal,
): Promise<Home> {
  const record = { ...claim, owner: spellOwner(ownProcess()) };
  const giveUpAtMs = clock.monotonic() + stopMs;
  const told = new Set<string>();
  const tell = (text: string) => {
    if (!told.has(text)) note(text);
    told.add(text);
  };
  let silent: string | undefined;
  for (;;) {
    const { holder } = put(file, record, silent);
    if (holder === undefined) return keepHome(file, record, { clock, note });
    if (stateOf(holder) === "elsewhere") {
      tell(
        "This home belongs to a gateway of another machine or container. Millrace checks whether that one still runs.",
      );
      if (await answersElsewhere(file, holder, clock, signal)) throw alreadyServes(holder, clock.now());
      silent = holder.instance;
      continue;
    }
    if (holder.isStopping !== true || clock.monotonic() > giveUpAtMs) throw alreadyServes(holder, clock.now());
    tell(`Your gateway (process ${holder.pid}) is still stopping. The new one starts when it has ended.`);
    await clock.sleep(lookEveryMs, signal);
  }
}

/** The gateway of this machine that has the home, also one that starts or stops; undefined if none does. */
export function holderOf(file: string): GatewayRecord | undefined {
  const record = readGatewayRecord(file);
  return record !== undefined && stateOf(record) === "alive" ? record : undefined;
}

/** Removes what a gateway left that has ended, unless another one has the home by now. Throws the file system's errors. */
export function clearHome(file: string, { instance }: Pick<GatewayRecord, "instance">): void {
  if (!existsSync(file)) return; // the lock would make the folder again
  withFileLock(file, () => {
    if (readGatewayRecord(file)?.instance === instance) removeSync(file);
  });
}

/** The error for a second gateway of one home. */
export function alreadyServes(holder: GatewayRecord, nowMs: number): MillraceError {
  const { url, socket, pid, startedAtMs, startedBy, isStopping } = holder;
  const isHere = stateOf(holder) !== "elsewhere";
  const does =
    isStopping === true
      ? "is still stopping"
      : (url ?? socket) === undefined
        ? "is starting"
        : `already serves on ${url ?? socket}`;
  const stop =
    startedBy === "program"
      ? "It runs inside another program: end that one to stop it."
      : startedBy === "command"
        ? "A command started it, so it ends after ten minutes without use: `millrace restart` lets it stay, `millrace stop` stops it."
        : "`millrace stop` stops it, `millrace restart` restarts it.";
  return new MillraceError(
    "invalid_request",
    `Your gateway ${does} (process ${pid}${isHere ? "" : " of another machine or container"}, started ${spellAge(nowMs - startedAtMs)} ago).`,
    {
      param: "port",
      hint: `A home has one gateway. ${isHere ? stop : "Stop it there."} A second one needs a home of its own: set MILLRACE_HOME to another folder.`,
      details: { gateway: { pid, at: url ?? socket ?? null } },
    },
  );
}

/** `gone` for a record without a process, or with two: no gateway wrote it. */
function stateOf({ owner = "", pid }: GatewayRecord): "alive" | "gone" | "elsewhere" {
  const process = readOwner(owner);
  return process?.pid === pid ? stateOfOwner(process) : "gone";
}

/** Writes the record, unless another gateway has the home: that one is answered. `silent`: one that does not count. */
function put(
  file: string,
  record: GatewayRecord,
  silent?: string,
): { readonly holder?: GatewayRecord; readonly problem?: unknown } {
  const other = () => {
    const found = readGatewayRecord(file);
    const isOther = found !== undefined && found.instance !== record.instance && found.instance !== silent;
    return isOther && stateOf(found) !== "gone" ? { holder: found } : undefined;
  };
  try {
    return withFileLock(file, () => {
      const held = other();
      if (held === undefined) writeGatewayFile(file, record);
      return held ?? {};
    });
  } catch (problem) {
    return other() ?? { problem };
  }
}

/** A file that this user may not read any more ends no gateway. */
function attempt<T extends object>(use: () => T): Partial<T> & { readonly problem?: unknown } {
  try {
    return use();
  } catch (problem) {
    return { problem } as Partial<T> & { readonly problem: unknown };
  }
}

/**
 * Keeps the record in place until the home is left. If the disk is full, or the folder is not writable or was removed, other commands
 * cannot find the gateway, but it still runs: the reason is told once.
 */
function keepHome(
  file: string,
  record: GatewayRecord,
  { clock, note }: { readonly clock: Clock; readonly note: (text: string) => void },
): Home {
  const left = new AbortController();
  let current = record;
  let told = false;
  const write = (changed: GatewayRecord) => {
    current = changed;
    const { problem } = attempt(() => put(file, current));
    if (problem === undefined || told) return;
    told = true;
    note(
      `${file} cannot be written (${problem instanceof Error ? problem.message : "unknown reason"}). Until it can, other commands do not find this gateway.`,
    );
  };
  const isOwn = () => attempt(() => ({ held: readGatewayRecord(file)?.instance })).held === record.instance;
  const look = async () => {
    while (!left.signal.aborted) {
      await bestEffort(clock.sleep(keepEveryMs, left.signal));
      if (left.signal.aborted) return;
      const isAsked = askedAt(file);
      if (isAsked === undefined) write(current);
      else if (isAsked && isOwn()) touch(file, clock.now() / 1_000);
    }
  };
  void look();
  return {
    instance: record.instance,
    serves: (at) => write({ ...record, ...at }),
    stops: () => write({ ...record, isStopping: true }),
    leave() {
      left.abort();
      try {
        clearHome(file, record);
      } catch {
        // the disk takes no changes: the record names a process that has ended
      }
    },
  };
}

/**
 * Asks a gateway that this system cannot see whether it runs: the file gets an old time, and a running gateway sets it again within
 * seconds. No gateway writes to the disk for this while nobody asks.
 */
async function answersElsewhere(
  file: string,
  { instance }: GatewayRecord,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  if (!touch(file, questionSeconds)) return false;
  const giveUpAtMs = clock.monotonic() + answerMs;
  while (clock.monotonic() < giveUpAtMs) {
    await clock.sleep(5 * lookEveryMs, signal);
    if (askedAt(file) !== true) return readGatewayRecord(file)?.instance === instance;
  }
  return false;
}

/** Whether the file has the time of the question; undefined if there is none. */
function askedAt(file: string): boolean | undefined {
  try {
    return statSync(file).mtimeMs === 1_000 * questionSeconds;
  } catch {
    return undefined;
  }
}

function touch(file: string, seconds: number): boolean {
  try {
    utimesSync(file, seconds, seconds);
    return true;
  } catch {
    return false; // a disk that takes no changes
  }
}
