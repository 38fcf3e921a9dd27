/** The reliable client: `millrace/client`. Runs in browsers, Bun and Node; `millrace/client/node` adds files and HTTP/2. */
export { isMillraceError, MillraceError } from "../base/errors.ts";
export type { Patience } from "./attach.ts";
export type { BackoffPolicy } from "./backoff.ts";
export type { CircuitPolicy } from "./circuit.ts";
export type { GatewayAddress, GatewayLink, LinkOptions } from "./gateway-link.ts";
export { type IndexedDbStoreOptions, openIndexedDbRecordStore } from "./indexed-db-record-store.ts";
export { openMemoryRecordStore } from "./memory-record-store.ts";
export type { StreamRequest, ToolResult } from "./messages.ts";
export { type ObservedCall, type ObservedEvent, type ObserveOptions, observe } from "./observe.ts";
export type { StreamRecord } from "./record.ts";
export type { OwnedRecord, RecordStore } from "./record-store.ts";
export type { ConnectionChange, ReliableStream, StreamInput, StreamPass } from "./reliable-stream.ts";
export { autoResume, type Leftover, type ResumeOptions, resume } from "./resume.ts";
export { startReliableStream } from "./start-stream.ts";
export type { EndEvent, StreamEvent, ToolCallEvent } from "./stream-event.ts";
export type { StreamOptions } from "./stream-options.ts";
export { webLink } from "./web-link.ts";
