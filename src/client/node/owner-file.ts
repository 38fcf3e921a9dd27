import { open, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bestEffort } from "../../base/async.ts";
import { remove } from "../../base/node/move-file.ts";
import { ownProcess, readOwner, spellOwner, stateOfOwner } from "../../base/node/process-owner.ts";

const ending = "owner";
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
    const numbers = await numbersOf(folder, streamKey, ending);
    const last = numbers.at(-1) ?? 0;
    if (last > 0 && !(await isFree(pathOf(folder, streamKey, last), nowMs))) return undefined;
    try {
      const file = await open(pathOf(folder, streamKey, last + 1), "wx", 0o600);
      try {
        await file.writeFile(spellOwner(ownProcess()));
      } finally {
        await file.close();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined; // another process was faster
      throw error;
    }
    for (const number of numbers) await bestEffort(remove(pathOf(folder, streamKey, number)));
    return new OwnerFile(folder, streamKey, last + 1);
  }

  /** Whether no other process has taken it since. */
  async holds(): Promise<boolean> {
    return (await numbersOf(this.#folder, this.#streamKey, ending)).at(-1) === this.#number;
  }

  /** A sign of life, for those on other machines. */
  async touch(nowMs: number): Promise<void> {
    await utimes(this.#path, nowMs / 1000, nowMs / 1000);
  }

  /** `forget`: no record is left, so that no number needs to be remembered. */
  async release(forget: boolean): Promise<void> {
    if (!(await this.holds())) return;
    await bestEffort(forget ? remove(this.#path) : writeFile(this.#path, ""));
  }

  get #path(): string {
    return pathOf(this.#folder, this.#streamKey, this.#number);
  }
}

function pathOf(folder: string, streamKey: string, number: number): string {
  return join(folder, `${streamKey}.${number}.${ending}`);
}

/** The numbers of the files `<stream key>.<n>.<ending>` in a folder, in order. */
export async function numbersOf(folder: string, streamKey: string, ending: string): Promise<readonly number[]> {
  const names = await readdir(folder);
  return names
    .filter((name) => name.startsWith(`${streamKey}.`) && name.endsWith(`.${ending}`))
    .map((name) => Number(name.slice(streamKey.length + 1, -ending.length - 1)))
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
  const holder = readOwner(text);
  if (holder === undefined) return true; // cut short by a crash
  const state = stateOfOwner(holder);
  return state === "elsewhere" ? nowMs - touchedAtMs > foreignMs : state === "gone";
}
