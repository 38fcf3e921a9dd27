import { link, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bestEffort } from "../../base/async.ts";
import { type Door, defaultDoors, dial, openDoor } from "../../base/node/door.ts";
import { remove } from "../../base/node/move-file.ts";
import { recordNotWritten, recordTaken } from "../records/record-store.ts";

const ending = "owner";
const doorName = /^[\w-]+\.door$/;

/**
 * The right to a stream's record, among processes of one machine. Each owner has a number and makes one file for it: the highest
 * number owns the record. The file names a door (`base/node/door.ts`) at which the owner listens while it lives. An empty file means that
 * the owner gave the record back. An owner that was replaced finds the next number before it writes.
 */
export class OwnerFile {
  readonly #folder: string;
  readonly #streamKey: string;
  readonly #number: number;
  readonly #door: Door;

  private constructor(folder: string, streamKey: string, number: number, door: Door) {
    this.#folder = folder;
    this.#streamKey = streamKey;
    this.#number = number;
    this.#door = door;
  }

  /** Undefined while a process that lives has it. */
  static async take(folder: string, streamKey: string): Promise<OwnerFile | undefined> {
    const numbers = await numbersOf(folder, streamKey, ending);
    const last = numbers.at(-1) ?? 0;
    const left = last === 0 ? "" : await textOf(pathOf(folder, streamKey, last));
    if (!(await isFree(folder, left))) return undefined;
    const name = `${crypto.randomUUID().slice(0, 8)}.door`; // a socket's path is short
    const door = openDoor(join(folder, name), defaultDoors, (socket) => socket.destroy());
    door.server.unref(); // a stream that is open keeps no program alive
    try {
      await door.opened;
      if (await written(pathOf(folder, streamKey, last + 1), name)) {
        for (const number of numbers) await bestEffort(remove(pathOf(folder, streamKey, number)));
        if (doorName.test(left)) await bestEffort(remove(join(folder, left)));
        return new OwnerFile(folder, streamKey, last + 1, door);
      }
      door.close(); // another process was faster
      return undefined;
    } catch (error) {
      door.close();
      throw error;
    }
  }

  /** Throws `recordTaken()` once another process has taken it, and `degraded` where its own file is gone. */
  async require(): Promise<void> {
    const last = (await numbersOf(this.#folder, this.#streamKey, ending)).at(-1) ?? 0;
    if (last > this.#number) throw recordTaken();
    if (last < this.#number) throw recordNotWritten(new Error("its files were removed"));
  }

  /** `forget`: no record is left, so that no number needs to be remembered. */
  async release(forget: boolean): Promise<void> {
    const path = pathOf(this.#folder, this.#streamKey, this.#number);
    await bestEffort(this.require().then(() => (forget ? remove(path) : writeFile(path, ""))));
    this.#door.close();
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

/** The file appears with its content, or not at all; false where it is there already. */
async function written(path: string, text: string): Promise<boolean> {
  const draft = `${path}.${crypto.randomUUID()}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: "wx" });
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false; // fs throws nothing else
    throw error;
  } finally {
    await bestEffort(remove(draft));
  }
}

/** "" where it was given back meanwhile. */
async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

/** Whether nobody listens at the door that an owner file names. An owner that is slow to answer lives. */
async function isFree(folder: string, door: string): Promise<boolean> {
  if (!doorName.test(door)) return true; // given back
  try {
    (await dial(join(folder, door))).destroy();
    return false;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ECONNREFUSED" || code === "ENOENT";
  }
}
