import { join } from "node:path";
import { bestEffort } from "../../base/async.ts";
import { openFileRecordStore } from "../../client/node/file-record-store.ts";
import type { OwnedRecord, RecordStore } from "../../client/records/record-store.ts";
import type { CommandContext } from "../command.ts";

/** As long as a gateway keeps an answer that nobody reads, and a day more for one that somebody did. */
const keptMs = 26 * 3_600_000;

/** The records of chats whose answers have arrived: their owner can still read them. */
export function openPastChats({ settings, io }: Pick<CommandContext, "settings" | "io">): Promise<RecordStore> {
  return openFileRecordStore({ folder: join(settings.streamsFolder, "ended"), clock: io.clock });
}

/** The same store, which keeps a copy of each record that is removed. A copy that cannot be written is only not kept. */
export function keepingPast(store: RecordStore, past: RecordStore, nowMs: () => number): RecordStore {
  return {
    survivesRestart: store.survivesRestart,
    list: () => store.list(),
    peek: (streamKey) => store.peek(streamKey),
    async take(streamKey) {
      const owned = await store.take(streamKey);
      if (owned === undefined) return undefined;
      return {
        read: () => owned.read(),
        save: (record) => owned.save(record),
        setAside: () => owned.setAside(),
        release: () => owned.release(),
        async remove() {
          await bestEffort(keep(streamKey, owned, past));
          await owned.remove();
          await bestEffort(forgetOld(past, nowMs()));
        },
      };
    },
  };
}

async function keep(streamKey: string, owned: OwnedRecord, past: RecordStore): Promise<void> {
  const record = await owned.read();
  const copy = await past.take(streamKey);
  if (record !== undefined) await copy?.save(record);
  await copy?.release();
}

async function forgetOld(past: RecordStore, nowMs: number): Promise<void> {
  for (const streamKey of await past.list()) {
    const record = await past.peek(streamKey).catch(() => undefined); // one that cannot be opened goes as well
    if (record !== undefined && nowMs - record.createdAtMs < keptMs) continue;
    const owned = await past.take(streamKey);
    await owned?.remove();
    await owned?.release();
  }
}
