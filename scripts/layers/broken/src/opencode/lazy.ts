import { DatabaseSync } from "node:sqlite"; export const d = DatabaseSync;
