/** The parts of `millrace/client` for Node and Bun: records in files, and HTTP/2. */
export { isMillraceError, MillraceError } from "../../base/errors.ts";
export type * from "../index.ts";
export { type FileStoreOptions, openFileRecordStore } from "./file-record-store.ts";
export { nodeLink } from "./node-link.ts";
