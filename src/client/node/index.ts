/** `millrace/client` for Node and Bun: all of it, records in files, and HTTP/2. */
export * from "../index.ts";
export { type FileStoreOptions, openFileRecordStore } from "./file-record-store.ts";
export { nodeLink } from "./node-link.ts";
