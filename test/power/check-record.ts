import { openFileRecordStore } from "../../src/client/node/file-record-store.ts";
import { recordKey, streamKeys } from "./record-pattern.ts";

/**
 * Opens what a loss of power left of a client's folder with the real store: each record is there as it was stored last, or as
 * the next one that was being stored; none is taken for changed or for an older copy.
 */
export async function checkRecords(folder: string, said: readonly string[]): Promise<string[]> {
  const broken: string[] = [];
  const store = await openFileRecordStore({ folder, key: recordKey });
  for (const streamKey of streamKeys) {
    const saved = said.filter((line) => line.startsWith(`saved ${streamKey} `)).length;
    try {
      const owned = await store.take(streamKey);
      if (owned === undefined) {
        broken.push(`${streamKey} is owned by no live process`);
        continue;
      }
      const found = (await owned.read())?.nextSeqno ?? 0;
      if (found < saved || found > saved + 1) broken.push(`${streamKey} was stored ${saved} times, and says ${found}`);
      await owned.release();
    } catch (error) {
      broken.push(`${streamKey}, stored ${saved} times: ${String(error)}`);
    }
  }
  return broken;
}
