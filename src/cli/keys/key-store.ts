import type { KeyRecord } from "./key-record.ts";

/** Where keys are kept: the file of one machine, or the store that gateways share. */
export interface KeyStore {
  /** Every key that was made, also the revoked ones. Throws `degraded` while the place cannot be used. */
  read(): Promise<readonly KeyRecord[]>;
  /**
   * Replaces the keys by the result of `change`, and returns it. No other process changes them meanwhile: two changes at once lose no
   * key. `change` may be called more than once; if it throws, nothing changes. Throws `degraded` as `read` does.
   */
  change(change: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): Promise<readonly KeyRecord[]>;
  close(): Promise<void>;
}
