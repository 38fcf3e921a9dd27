import { file } from "./node/file.ts";
export const known = file;
