import { toBase64Url } from "../encoding.ts";
import { newRecord } from "../records/record.ts";
import { recordTaken } from "../records/record-store.ts";
import { encodeRequest, type StreamRequest } from "./messages.ts";
import type { ReliableStream } from "./reliable-stream.ts";
import { Stream } from "./stream.ts";
import { neverAborted, type StreamOptions, settingsOf } from "./stream-options.ts";
import { begin } from "./stream-state.ts";

/**
 * Starts a stream: from here on its request is stored, and nothing is sent before. `events` connects. The signal disconnects
 * and cancels nothing.
 *
 * @throws MillraceError `degraded` where the record cannot be written.
 */
export async function startReliableStream(
  request: StreamRequest,
  options: StreamOptions,
  signal: AbortSignal = neverAborted,
): Promise<ReliableStream> {
  const settings = settingsOf(options);
  const payload = encodeRequest(request);
  const ids = {
    streamKey: crypto.randomUUID(),
    encryptionKey: toBase64Url(crypto.getRandomValues(new Uint8Array(32))),
  };
  const owned = await settings.store.take(ids.streamKey);
  if (owned === undefined) throw recordTaken();
  const record = newRecord(ids, settings.clock.now(), settings.label);
  const stream = new Stream(begin(record), owned, settings, signal);
  try {
    await stream.give({ type: "given", kind: "request", payload });
  } catch (error) {
    await owned.release();
    throw error;
  }
  return stream;
}
