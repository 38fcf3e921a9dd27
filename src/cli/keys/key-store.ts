import type { KeyRecord } from "./key-record.ts";

/** Where keys are kept: the file of one machine, or the store that gateways share. */
export interface KeyStore {
  /** Every key that was made, also the revoked ones. Throws `degraded` while the place cannot be used. */
  read(): Promise<readonly KeyRecord[]>;
  /**
   * Replaces the keys by what `change` makes of them, and answers that. Nobody else changes them meanwhile: two changes at once lose
   * no key. `change` may be called more than once, and what it throws changes nothing. Throws `degraded` as `read` does.
   */
  change(change: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): Promise<readonly KeyRecord[]>;
  close(): Promise<void>;
}
