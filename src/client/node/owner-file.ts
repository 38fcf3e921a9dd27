import { readFileSync } from "node:fs";
import { open, readdir, readFile, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { hostname, uptime } from "node:os";
import { join } from "node:path";
import { bestEffort } from "../../base/async.ts";
import { processExists } from "../../base/node/process-exists.ts";

/** The owner of a number, from its file. */
interface Holder {
  readonly host: string;
  readonly pid: number;
  /** When the process started, so that a pid that is used again is noticed; undefined if the system does not say. */
  readonly started: string | undefined;
}

/** A holder on another machine that shared the folder is believed gone after this long without a sign. */
const foreignMs = 3_600_000;

/**
 * The right to a stream's record, among processes of one machine. Each owner has a number and makes one file for it: the highest
 * number owns the record. An empty file means that the owner gave the record back; so does a file whose process has ended. An
 * owner that was replaced finds the next number before it writes.
 */
export class OwnerFile {
  readonly #folder: string;
  readonly #streamKey: string;
  readonly #number: number;

  private constructor(folder: string, streamKey: string, number: number) {
    this.#folder = folder;
    this.#streamKey = streamKey;
    this.#number = number;
  }

  /** Undefined while a process that lives has it. */
  static async take(folder: string, streamKey: string, nowMs: number): Promise<OwnerFile | undefined> {
    const numbers = await numbersOf(folder, streamKey);
    const last = numbers.at(-1) ?? 0;
    if (last > 0 && !(await isFree(pathOf(folder, streamKey, last), nowMs))) return undefined;
    try {
      const file = await open(pathOf(folder, streamKey, last + 1), "wx", 0o600);
      try {
        await file.writeFile(JSON.stringify(self()));
      } finally {
        await file.close();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined; // another process was faster
      throw error;
    }
    for (const number of numbers) await bestEffort(unlink(pathOf(folder, streamKey, number)));
    return new OwnerFile(folder, streamKey, last + 1);
  }

  /** Whether no other process has taken it since. */
  async holds(): Promise<boolean> {
    return (await numbersOf(this.#folder, this.#streamKey)).at(-1) === this.#number;
  }

  /** A sign of life, for those on other machines. */
  async touch(nowMs: number): Promise<void> {
    await utimes(this.#path, nowMs / 1000, nowMs / 1000);
  }

  /** `forget`: no record is left, so that no number needs to be remembered. */
  async release(forget: boolean): Promise<void> {
    if (!(await this.holds())) return;
    await bestEffort(forget ? unlink(this.#path) : writeFile(this.#path, ""));
  }

  get #path(): string {
    return pathOf(this.#folder, this.#streamKey, this.#number);
  }
}

function pathOf(folder: string, streamKey: string, number: number): string {
  return join(folder, `${streamKey}.${number}.owner`);
}

/** In order. */
async function numbersOf(folder: string, streamKey: string): Promise<readonly number[]> {
  const names = await readdir(folder);
  return names
    .filter((name) => name.startsWith(`${streamKey}.`) && name.endsWith(".owner"))
    .map((name) => Number(name.slice(streamKey.length + 1, -".owner".length)))
    .filter((number) => Number.isSafeInteger(number))
    .sort((a, b) => a - b);
}

async function isFree(path: string, nowMs: number): Promise<boolean> {
  let text: string;
  let touchedAtMs: number;
  try {
    text = await readFile(path, "utf8");
    touchedAtMs = (await stat(path)).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return true; // given back meanwhile
    throw error;
  }
  if (text === "") return true;
  let holder: Holder;
  try {
    holder = JSON.parse(text) as Holder; // written by take; what cannot be read was cut short by a crash
  } catch {
    return true;
  }
  if (holder.host !== hostname()) return nowMs - touchedAtMs > foreignMs;
  return touchedAtMs < nowMs - uptime() * 1000 || !lives(holder);
}

function self(): Holder {
  return { host: hostname(), pid: process.pid, started: startOf(process.pid) };
}

function lives({ pid, started }: Holder): boolean {
  return processExists(pid) && (started === undefined || (startOf(pid) ?? started) === started);
}

/** When a process started, in ticks since boot; undefined where the system does not say. Source: proc(5), stat, field 22. */
function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined; // no /proc, or the process is gone
  }
}
