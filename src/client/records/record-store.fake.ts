import type { StreamRecord } from "./record.ts";
import type { OwnedRecord, RecordStore } from "./record-store.ts";

/** The process died. */
export class Death extends Error {
  override readonly name = "Death";
}

/** A store whose process dies at the nth save (from 0), before or after that reached the disk. `disk` is what is left. */
export class DyingStore implements RecordStore {
  readonly survivesRestart = true;
  readonly disk: Map<string, StreamRecord>;
  saves = 0;
  readonly #dies: { readonly at: number; readonly when: "before" | "after" } | undefined;
  #isDead = false;

  constructor(disk: Map<string, StreamRecord>, dies?: { readonly at: number; readonly when: "before" | "after" }) {
    this.disk = disk;
    this.#dies = dies;
  }

  async list(): Promise<readonly string[]> {
    return [...this.disk.keys()];
  }

  async peek(streamKey: string): Promise<StreamRecord | undefined> {
    return this.disk.get(streamKey);
  }

  async take(streamKey: string): Promise<OwnedRecord> {
    const live = () => {
      if (this.#isDead) throw new Death();
    };
    return {
      read: async () => {
        live();
        return this.disk.get(streamKey);
      },
      save: async (record) => {
        live();
        const dies = this.saves++ === this.#dies?.at;
        this.#isDead = dies;
        if (dies && this.#dies?.when === "before") throw new Death();
        // As it would come back from a file.
        this.disk.set(streamKey, JSON.parse(JSON.stringify(record)) as StreamRecord);
        live();
      },
      remove: async () => {
        live();
        this.disk.delete(streamKey);
      },
      setAside: async () => {
        live();
        this.disk.delete(streamKey);
        return "aside";
      },
      release: async () => undefined,
    };
  }
}
