import { writeSync } from "node:fs";
import { openFileRecordStore } from "../../src/client/node/file-record-store.ts";
import { newRecord } from "../../src/client/records/record.ts";
import { recordKey, streamKeys } from "./record-pattern.ts";

/**
 * An application's side, to be recorded: keeps the records of three streams in turn, each time a little further on, as the
 * client library does. Says on its output what has been stored, right when it is. Arguments: the folder, how many times.
 */
const [folder = "", times = "10"] = process.argv.slice(2);
const store = await openFileRecordStore({ folder, key: recordKey });
const taken = await Promise.all(
  streamKeys.map(async (streamKey) => {
    const owned = await store.take(streamKey);
    if (owned === undefined) throw new Error("somebody else has it");
    return { streamKey, owned };
  }),
);
for (let nextSeqno = 1; nextSeqno <= Number(times); nextSeqno++) {
  for (const { streamKey, owned } of taken) {
    const record = newRecord({ streamKey, encryptionKey: "A".repeat(43) }, 1, "");
    await owned.save({ ...record, nextSeqno });
    writeSync(1, `saved ${streamKey} ${nextSeqno}\n`);
  }
}
