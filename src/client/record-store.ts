import type { StreamRecord } from "./record.ts";

/**
 * Where a client keeps the records of its streams. A `save` that resolved survives a crash where the store says so. A
 * record has one owner at a time: `lease` answers false while somebody else who lives has it. Source: facts/idempotent-streams.md, H7.
 */
export interface RecordStore {
  readonly survivesRestart: boolean;
  save(record: StreamRecord): Promise<void>;
  /** Every record that can be read; one that was changed or damaged is left out, and told to `onDamaged`. */
  list(): Promise<readonly StreamRecord[]>;
  remove(streamKey: string): Promise<void>;
  /** Takes the record for this owner, or keeps it; false while another owner has it. */
  lease(streamKey: string): Promise<boolean>;
  release(streamKey: string): Promise<void>;
}

/** Records in memory: for a stream that needs to survive only its connections. */
export function openMemoryRecordStore(): RecordStore {
  const records = new Map<string, StreamRecord>();
  const leased = new Set<string>();
  return {
    survivesRestart: false,
    save: (record) => {
      records.set(record.streamKey, record);
      return Promise.resolve();
    },
    list: () => Promise.resolve([...records.values()]),
    remove: (streamKey) => {
      records.delete(streamKey);
      leased.delete(streamKey);
      return Promise.resolve();
    },
    lease: (streamKey) => {
      const isFree = !leased.has(streamKey);
      leased.add(streamKey);
      return Promise.resolve(isFree);
    },
    release: (streamKey) => {
      leased.delete(streamKey);
      return Promise.resolve();
    },
  };
}
