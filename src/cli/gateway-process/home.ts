import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bestEffort, orAborted, timeLimit } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import { type Door, defaultDoors, dial, openDoor } from "../../base/node/door.ts";
import { removeIfThere } from "../../base/node/move-file.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { isLocked, takeLock } from "../../base/node/system-lock.ts";
import { spellAge } from "../terminal/spell.ts";
import { type GatewayRecord, readGatewayRecord, writeGatewayFile } from "./gateway-file.ts";

/** The home of a gateway, which no other gateway has meanwhile. */
export interface Home {
  /** Random, made once for each home: the owner of its turns. */
  readonly id: string;
  readonly instance: string;
  /** Aborts when a command asks the gateway to stop. */
  readonly asked: AbortSignal;
  /** Aborts when the user asks a gateway that a command started to stay. */
  readonly stays: AbortSignal;
  /** From now on other commands find the gateway there. */
  serves(at: Pick<GatewayRecord, "url" | "socket">): void;
  /** From now on no command finds the gateway, and the next gateway waits for its end. */
  stops(): void;
  /** Frees the home. */
  leave(): void;
}

/** How often it is looked whether the file is there; ms. A row of docs/dev/turn-machine.md. */
const keepEveryMs = 30_000;
/** How long a gateway has to end its answers once it stops; ms. Later its service manager kills it, and commands give up waiting. */
export const stopMs = 30_000;
/** How long one that took the home may take to write its file; ms. */
const nameMs = 2_000;
const lookEveryMs = 50;
/** How long a gateway has to answer at its door; ms. */
const answerMs = 5_000;

/** The files of a home, beside the gateway's file. */
function filesBeside(file: string) {
  const folder = dirname(file);
  return { lock: join(folder, "gateway.held"), door: join(folder, "gateway.door"), id: join(folder, "home-id") };
}

/**
 * Takes the home of this gateway file, until `leave`. The home is held by a lock of the system, which ends with the process. A gateway that
 * is stopping is waited for. Where the lock cannot be made, as on a disk that takes no changes, the gateway runs without it: this is told.
 *
 * @throws MillraceError `invalid_request` that names the gateway that has the home.
 * Source: test/e2e/one-gateway.test.ts.
 */
export async function takeHome(
  file: string,
  claim: Omit<GatewayRecord, "url" | "socket" | "isStopping">,
  { clock, note }: { readonly clock: Clock; readonly note: (text: string) => void },
  signal: AbortSignal,
): Promise<Home> {
  const beganAtMs = clock.monotonic();
  let told = false;
  for (;;) {
    const giveBack = tryLock(file, note);
    if (giveBack !== undefined) return keepHome(file, claim, giveBack, { clock, note });
    const holder = holderOf(file); // undefined where it has just ended
    if (holder !== undefined) {
      const isStopping = holder.isStopping === true;
      const giveUpAtMs = beganAtMs + (isStopping ? stopMs : nameMs);
      if ((!isStopping && holder.pid !== 0) || clock.monotonic() > giveUpAtMs) throw alreadyServes(holder, clock.now());
      if (isStopping && !told)
        note(`Your gateway (process ${holder.pid}) is still stopping. The new one starts when it has ended.`);
      told ||= isStopping;
    }
    await clock.sleep(lookEveryMs, signal);
  }
}

/** The gateway that has the home, also one that starts or stops; undefined if none does. One that could not write its file has the pid 0. */
export function holderOf(file: string): GatewayRecord | undefined {
  if (!isLocked(filesBeside(file).lock)) return undefined;
  return readGatewayRecord(file) ?? { pid: 0, instance: "", version: "", startedAtMs: 0 };
}

/**
 * Asks the gateway that has the home to stop, or to stay although a command started it. False where it does not answer: it has ended, or
 * hangs. Only one of this version knows the second word.
 */
export async function askHolder(file: string, word: "stop" | "stay"): Promise<boolean> {
  let socket: Awaited<ReturnType<typeof dial>> | undefined;
  try {
    socket = await dial(filesBeside(file).door);
    const answered = new Promise<void>((resolve, reject) => {
      socket?.once("data", () => resolve());
      socket?.once("close", () => reject(new Error("the gateway has ended")));
    });
    socket.write(word);
    await orAborted(answered, timeLimit(answerMs));
    return true;
  } catch {
    return false;
  } finally {
    socket?.destroy();
  }
}

/** Removes what an ended gateway left, unless another one has the home by now. */
export function clearHome(file: string, { instance }: Pick<GatewayRecord, "instance">): void {
  if (readGatewayRecord(file)?.instance === instance) removeIfThere(file);
}

/** The error for a second gateway of one home. */
export function alreadyServes(holder: GatewayRecord, nowMs: number): MillraceError {
  const { url, socket, pid, startedAtMs, startedBy, isStopping } = holder;
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
        ? "A command started it, so it ends after ten minutes without use: `millrace serve --background` lets it stay, `millrace stop` stops it."
        : "`millrace stop` stops it, `millrace restart` restarts it.";
  const who = pid === 0 ? "" : ` (process ${pid}, started ${spellAge(nowMs - startedAtMs)} ago)`;
  return new MillraceError("invalid_request", `Your gateway ${does}${who}.`, {
    param: "port",
    hint: `A home has one gateway. ${stop} A second one needs a home of its own: set MILLRACE_HOME to another folder.`,
    details: { gateway: { pid, at: url ?? socket ?? null } },
  });
}

/** The function that gives the lock back; undefined while another gateway has it. */
function tryLock(file: string, note: (text: string) => void): (() => void) | undefined {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    return takeLock(filesBeside(file).lock);
  } catch (error) {
    if (isHeldHere(file)) return undefined; // on a disk that takes no changes any more
    note(`${dirname(file)} cannot be locked (${reason(error)}). Take care that no second gateway uses this home.`);
    return () => undefined;
  }
}

function isHeldHere(file: string): boolean {
  try {
    return isLocked(filesBeside(file).lock);
  } catch {
    return false;
  }
}

/** Keeps the record in place until the home is left. The folder is never made again: what is at its place then is another home. */
function keepHome(
  file: string,
  claim: GatewayRecord,
  giveBack: () => void,
  { clock, note }: { readonly clock: Clock; readonly note: (text: string) => void },
): Home {
  const left = new AbortController();
  const asked = new AbortController();
  const stays = new AbortController();
  let own = claim;
  let current = claim;
  let told = false;
  const write = () => {
    try {
      writeGatewayFile(file, current);
    } catch (error) {
      if (!told)
        note(`${file} cannot be written (${reason(error)}). Until it can, other commands do not find this gateway.`);
      told = true;
    }
  };
  const become = (record: GatewayRecord) => {
    current = record;
    if (isOwnPlace()) write();
  };
  write();
  const id = homeId(file);
  const isOwnPlace = () => readId(file) === (id.isKept ? id.value : undefined);
  const door = openHomeDoor(file, {
    stop: () => asked.abort(),
    stay() {
      own = { ...own, startedBy: "background" };
      become({ ...current, startedBy: "background" });
      stays.abort();
    },
  });
  const look = async () => {
    while (!left.signal.aborted) {
      await bestEffort(clock.sleep(keepEveryMs, left.signal));
      if (!left.signal.aborted && isOwnPlace() && readRecord(file) === undefined) write();
    }
  };
  void look();
  return {
    id: id.value,
    instance: claim.instance,
    asked: asked.signal,
    stays: stays.signal,
    serves: (at) => become({ ...own, ...at }),
    stops: () => become({ ...own, isStopping: true }),
    leave() {
      if (left.signal.aborted) return;
      left.abort();
      if (isOwnPlace()) {
        door?.close(); // it would take away the door of a home that is at this place now
        if (readRecord(file)?.instance === claim.instance) removeIfThere(file);
      }
      giveBack();
    },
  };
}

/** The home's id, made at its first gateway; only the one that has the lock makes it. One that cannot be kept lasts as long as the gateway. */
function homeId(file: string): { readonly value: string; readonly isKept: boolean } {
  const kept = readId(file);
  if (kept !== undefined) return { value: kept, isKept: true };
  const value = randomUUID();
  try {
    replaceFileSync(filesBeside(file).id, `${value}\n`);
    return { value, isKept: true };
  } catch {
    return { value, isKept: false };
  }
}

function readId(file: string): string | undefined {
  try {
    return readFileSync(filesBeside(file).id, "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}

function readRecord(file: string): GatewayRecord | undefined {
  try {
    return readGatewayRecord(file);
  } catch {
    return undefined; // a file that this user may not read any more ends no gateway
  }
}

/** Where commands ask the gateway to stop or to stay. Without it, as on a full disk, it can be stopped by its terminal or service. */
function openHomeDoor(file: string, on: Readonly<Record<"stop" | "stay", () => void>>): Door | undefined {
  const { door } = filesBeside(file);
  removeIfThere(door); // of a gateway that was killed: this one has the lock
  try {
    const opened = openDoor(door, defaultDoors, (socket) => {
      socket.once("data", (word) => {
        on[String(word) === "stay" ? "stay" : "stop"]();
        socket.end("done");
      });
    });
    opened.opened.catch(() => undefined);
    opened.server.on("error", () => undefined);
    opened.server.unref();
    return opened;
  } catch {
    return undefined;
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : "unknown reason";
}
