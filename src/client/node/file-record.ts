import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readIfThere, syncFolder } from "../../base/node/durable-file.ts";
import { moveFile, remove } from "../../base/node/move-file.ts";
import { replaceFile } from "../../base/node/replace-file.ts";
import type { RecordKey } from "../link/web-platform.ts";
import type { StreamRecord } from "../records/record.ts";
import { atStore, damagedRecord, type OwnedRecord } from "../records/record-store.ts";
import { openRecord, sealRecord, UntrustedRecord } from "../records/sealed-record.ts";
import { numbersOf, type OwnerFile } from "./owner-file.ts";

/** The file of a stream's record. */
export function recordPath(folder: string, streamKey: string): string {
  return join(folder, `${streamKey}.stream`);
}

/** The place of a record, and its stream. */
export interface FileRecordPlace {
  readonly folder: string;
  readonly streamKey: string;
  readonly owner: OwnerFile;
  readonly key: RecordKey;
}

/** One stream's record in a file store, held by its owner. */
export class FileRecord implements OwnedRecord {
  readonly #place: FileRecordPlace;
  readonly #path: string;
  /** As saved last. It grows on over a removal. */
  #generation = 0;
  /** Where the mark stands; undefined while nobody has looked, and after a move of it that failed. */
  #mark: number | undefined;

  constructor(place: FileRecordPlace) {
    this.#place = place;
    this.#path = recordPath(place.folder, place.streamKey);
  }

  async read(): Promise<StreamRecord | undefined> {
    await this.#place.owner.require();
    const bytes = await readIfThere(this.#path);
    if (bytes === undefined) return undefined;
    try {
      const mark = await this.#readMark();
      if (mark === undefined) throw new UntrustedRecord("the mark of what was saved last is gone");
      const { key, streamKey } = this.#place;
      const opened = await openRecord(key, bytes, { streamKey, atLeast: mark });
      this.#generation = opened.generation;
      await this.#moveMark(mark, opened.generation); // the crash may have come between the two
      return opened.record;
    } catch (error) {
      if (error instanceof UntrustedRecord) throw damagedRecord(error.message, await this.setAside());
      throw error;
    }
  }

  save(record: StreamRecord): Promise<void> {
    const { folder, key, owner } = this.#place;
    return atStore(async () => {
      await owner.require();
      const mark = await this.#marked();
      const generation = Math.max(mark, this.#generation) + 1;
      await replaceFile(this.#path, await sealRecord(key, record, generation), { flush: true });
      this.#generation = generation;
      await this.#moveMark(mark, generation);
      await syncFolder(folder);
    });
  }

  remove(): Promise<void> {
    return atStore(async () => {
      await this.#place.owner.require();
      await remove(this.#path);
      await this.#removeMark();
    });
  }

  async setAside(): Promise<string> {
    await this.#place.owner.require();
    const { folder, streamKey } = this.#place;
    const names = await readdir(folder);
    const earlier = names.filter((name) => name.startsWith(`${streamKey}.`) && name.endsWith(".aside")).length;
    const where = join(folder, `${streamKey}.${earlier + 1}.aside`);
    try {
      await moveFile(this.#path, where);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error; // fs throws nothing else; nothing was saved yet
    }
    await this.#removeMark();
    return where;
  }

  async release(): Promise<void> {
    await this.#place.owner.release((await readIfThere(this.#path)) === undefined);
  }

  /** Where the mark stands; made where there is none. */
  async #marked(): Promise<number> {
    const mark = this.#mark ?? (await this.#readMark()) ?? this.#generation;
    if (this.#mark === undefined) await replaceFile(this.#markPath(mark), new Uint8Array(), { flush: true });
    return mark;
  }

  async #readMark(): Promise<number | undefined> {
    return (await this.#marks()).at(-1);
  }

  async #moveMark(from: number, to: number): Promise<void> {
    this.#mark = undefined;
    if (from !== to) await moveFile(this.#markPath(from), this.#markPath(to));
    this.#mark = to;
  }

  async #removeMark(): Promise<void> {
    this.#mark = undefined;
    for (const mark of await this.#marks()) await remove(this.#markPath(mark));
  }

  #marks(): Promise<readonly number[]> {
    const { folder, streamKey } = this.#place;
    return numbersOf(folder, streamKey, "mark");
  }

  #markPath(generation: number): string {
    return join(this.#place.folder, `${this.#place.streamKey}.${generation}.mark`);
  }
}
