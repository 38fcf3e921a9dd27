import { file } from "./sqlite/file.ts"; export const rows = file;
