import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { MillraceError } from "../../base/errors.ts";
import { readIfThere } from "../../base/node/durable-file.ts";
import type { RecordKey } from "../link/web-platform.ts";
import { atStore, type RecordStore } from "../records/record-store.ts";
import { importRecordKey, peekRecord } from "../records/sealed-record.ts";
import { FileRecord, recordPath } from "./file-record.ts";
import { OwnerFile } from "./owner-file.ts";
import { NoRecordKey, readOrMakeRecordKey, recordKeyBytes } from "./record-key.ts";

export interface FileStoreOptions {
  /** Made with mode 0700 where it is missing. Processes that share it share their streams. */
  readonly folder: string;
  /** 32 bytes that seal the records; those of the file `records.key` in the folder (0600, made at first) otherwise. */
  readonly key?: Uint8Array<ArrayBuffer>;
}

/**
 * Records as files of one folder, each `<stream key>.stream` (0600): sealed, and replaced in one step that survives a power
 * cut. An empty file `<stream key>.<n>.mark` beside it names the last saved generation, so that an older copy of a record is
 * noticed. If a whole folder was restored from a copy, the gateway's counts show it.
 *
 * @throws MillraceError `degraded` if the folder or its key cannot be read or made, `invalid_request` for a key of another length.
 */
export async function openFileRecordStore(options: FileStoreOptions): Promise<RecordStore> {
  const { folder } = options;
  const key = await openKey(options);
  return {
    survivesRestart: true,
    list: async () => {
      const names = await atStore(() => readdir(folder));
      return names.filter((name) => name.endsWith(".stream")).map((name) => name.slice(0, -".stream".length));
    },
    peek: async (streamKey) => {
      requireFileName(streamKey);
      const bytes = await readIfThere(recordPath(folder, streamKey));
      return bytes && peekRecord(key, bytes, streamKey);
    },
    take: async (streamKey) => {
      requireFileName(streamKey);
      const owner = await atStore(() => OwnerFile.take(folder, streamKey));
      return owner && new FileRecord({ folder, streamKey, owner, key });
    },
  };
}

function requireFileName(streamKey: string): void {
  if (/^[\w-]{1,128}$/.test(streamKey)) return;
  throw new MillraceError("invalid_request", "The key of a stream is letters, digits and dashes.", {
    hint: "Give it as it was printed.",
  });
}

async function openKey({ folder, key }: FileStoreOptions): Promise<RecordKey> {
  if (key !== undefined && key.length !== recordKeyBytes)
    throw new MillraceError("invalid_request", `A key for records has ${recordKeyBytes} bytes, not ${key.length}.`, {
      param: "key",
      hint: "Give the key that sealed the records of this folder. Without a key, Millrace makes one.",
    });
  const path = join(folder, "records.key");
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return await importRecordKey(key ?? (await readOrMakeRecordKey(path)));
  } catch (error) {
    if (error instanceof NoRecordKey)
      throw new MillraceError("degraded", `The file is no key for the records of streams: ${path}.`, {
        hint: "Restore the file from a copy. If it is lost, move the whole folder away: only this key opens its records.",
        cause: error,
      });
    throw new MillraceError("degraded", `The folder for the records of streams cannot be used: ${folder}.`, {
      hint: "Make it writable for you, or pick another one.",
      cause: error,
    });
  }
}
