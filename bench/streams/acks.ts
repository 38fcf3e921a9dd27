import { Secret } from "../../src/base/secret.ts";
import type { LogStore } from "../../src/log/store.ts";

/**
 * Messages of clients made durable, a second: each on the disk before the next one is sent, over so many streams at once. One
 * stream flushes for each; many share their flushes.
 */
export async function acksPerSecond(store: LogStore, streams: number, each: number): Promise<number> {
  const attached = await Promise.all(
    Array.from({ length: streams }, (_, i) => {
      const clientKey = new Secret(Buffer.alloc(32, i).toString("base64url"));
      return store.attachStream({ caller: "bench", name: `acks-${streams}-${i}`, clientKey }, "create");
    }),
  );
  const payload = Buffer.from("what a tool answered, in a line or two. ".repeat(8));
  const startedAt = performance.now();
  await Promise.all(
    attached.map(async (stream) => {
      for (let seqno = 0; seqno < each; seqno++) {
        const { outcome } = await store.admit(stream, { seqno, payload });
        if (outcome !== "admitted") throw new Error(`message ${seqno} was ${outcome}`);
      }
    }),
  );
  return ((streams * each) / (performance.now() - startedAt)) * 1_000;
}
