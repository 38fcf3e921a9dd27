/** The reliable client: `millrace/client`. Runs in browsers, Bun and Node; `millrace/client/node` adds files and HTTP/2. */
export type { Clock } from "../base/clock.ts";
export type { Effort } from "../base/effort.ts";
export {
  type ErrorCode,
  type ErrorRecord,
  isMillraceError,
  MillraceError,
  type MillraceErrorOptions,
} from "../base/errors.ts";
export type { BackoffPolicy, Patience } from "./link/backoff.ts";
export type { GatewayAddress, GatewayLink, LinkOptions } from "./link/gateway-link.ts";
export { webLink } from "./link/web-link.ts";
export type { WebDatabase, WebDatabases, WebLocks, WebRequest, WebTable, WebTransaction } from "./link/web-platform.ts";
export { type IndexedDbStoreOptions, openIndexedDbRecordStore } from "./records/indexed-db-record-store.ts";
export { openMemoryRecordStore } from "./records/memory-record-store.ts";
export type { KnownCall, Mark, OutgoingKind, OutgoingMessage, StreamRecord } from "./records/record.ts";
export type { OwnedRecord, RecordStore } from "./records/record-store.ts";
export type { StreamFile, StreamRequest, ToolResult } from "./stream/messages.ts";
export { type ObservedCall, type ObservedEvent, type ObserveOptions, observe } from "./stream/observe.ts";
export { autoResume, type Leftover, type ResumeOptions, resume, startReliableStream } from "./stream/open-stream.ts";
export type { ReliableStream, StreamInput, StreamPass } from "./stream/stream.ts";
export type { EndEvent, StreamEvent, ToolCallEvent } from "./stream/stream-event.ts";
export type { ConnectionChange, StreamOptions } from "./stream/stream-options.ts";
export type { CallOutcome } from "./stream/stream-state.ts";
export type { TierName } from "./tiers/tier.ts";
