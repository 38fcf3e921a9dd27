import { file } from "../sqlite/file.ts"; export const r = file;
