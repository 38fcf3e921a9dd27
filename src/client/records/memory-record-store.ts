import type { StreamRecord } from "./record.ts";
import { type OwnedRecord, type RecordStore, recordTaken } from "./record-store.ts";

/** Records in memory: for a stream that needs to survive its connections only. */
export function openMemoryRecordStore(): RecordStore {
  const records = new Map<string, StreamRecord>();
  const aside: StreamRecord[] = [];
  const owners = new Map<string, symbol>();
  return {
    survivesRestart: false,
    list: () => Promise.resolve([...records.keys()]),
    peek: (streamKey) => Promise.resolve(records.get(streamKey)),
    take: (streamKey) => {
      if (owners.has(streamKey)) return Promise.resolve(undefined);
      const me = Symbol(streamKey);
      owners.set(streamKey, me);
      const asOwner = <T>(work: () => T): Promise<T> =>
        owners.get(streamKey) === me ? Promise.resolve(work()) : Promise.reject(recordTaken());
      const owned: OwnedRecord = {
        read: () => asOwner(() => records.get(streamKey)),
        save: (record) => asOwner(() => void records.set(streamKey, record)),
        remove: () => asOwner(() => void records.delete(streamKey)),
        setAside: () =>
          asOwner(() => {
            const record = records.get(streamKey);
            if (record !== undefined) aside.push(record);
            records.delete(streamKey);
            return "in memory";
          }),
        release: () => {
          if (owners.get(streamKey) === me) owners.delete(streamKey);
          return Promise.resolve();
        },
      };
      return Promise.resolve(owned);
    },
  };
}
