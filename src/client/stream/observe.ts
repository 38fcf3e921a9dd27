import { Connections } from "../link/connections.ts";
import { openMemoryRecordStore } from "../records/memory-record-store.ts";
import { newRecord, startMark } from "../records/record.ts";
import { noRecord, recordTaken } from "../records/record-store.ts";
import type { StreamPass } from "./stream.ts";
import type { StreamEvent, ToolCallEvent } from "./stream-event.ts";
import { neverAborted, type StreamOptions, type StreamSettings, settingsOf } from "./stream-options.ts";
import { StreamSession } from "./stream-session.ts";
import { begin } from "./stream-state.ts";

/** As the owner's options, without those for sending and keeping. */
export interface ObserveOptions
  extends Pick<StreamOptions, "gateway" | "store" | "backoff" | "patience" | "onConnection" | "clock" | "random"> {
  /** The last event that the application has: it is handed those after it. By default, and with "0", all of them. */
  readonly after?: string;
  /** Off: it ends after the events that the gateway has at the first question. */
  readonly follow?: boolean;
}

/** A call that the owner of the stream runs, as an onlooker sees it. */
export type ObservedCall = Omit<ToolCallEvent, "state">;

/** An event of a stream for an observer. */
export type ObservedEvent = Exclude<StreamEvent, ToolCallEvent> | ObservedCall;

/**
 * Observes a stream: every event after `after`, first stored and then live ones, each once and in order, to the end of the stream,
 * over any number of connections. It takes nothing over from the owner, sends nothing, and keeps no answer alive. `stream` is a
 * pass, or a key whose record is in `options.store`, of any owner. The signal, or leaving the loop, ends it.
 *
 * The iteration throws `MillraceError`: `invalid_request` for a key without a record; `expired` for a stream that has not started,
 * has expired, or has another key; `degraded` and `upstream_failed` as the owner's stream does; `internal` with reason `diverged`
 * when the events differ from those read before. The `end` event is proved by its count and digest.
 * Source: docs/stream-protocol.md, "Headers of an attach".
 */
export async function* observe(
  stream: string | StreamPass,
  options: ObserveOptions,
  signal: AbortSignal = neverAborted,
): AsyncGenerator<ObservedEvent, void> {
  const settings = { ...settingsOf(options), follows: options.follow ?? true };
  signal.throwIfAborted();
  const { streamKey, encryptionKey } = typeof stream === "string" ? await passOf(stream, settings) : stream;
  // An observer reads from the first event, so that the whole log is proved. Its own record dies with it.
  const owned = await openMemoryRecordStore().take(streamKey);
  if (owned === undefined) throw recordTaken();
  const record = newRecord({ streamKey, encryptionKey }, 0, "");
  const state = { ...begin(record, options.after ?? startMark.eventId), observes: true };
  const session = new StreamSession(state, owned, settings);
  for await (const event of new Connections(session, settings, signal).events()) {
    if (event.type === "tool_call") {
      const { state: _state, ...call } = event;
      yield call;
    } else yield event;
  }
}

async function passOf(streamKey: string, { store }: StreamSettings): Promise<StreamPass> {
  const record = await store.peek(streamKey);
  if (record === undefined) throw noRecord(streamKey);
  return record;
}
