import type { T } from "../src/turns/t.ts"; export const s: T = "";
