import type { T } from "../../turns/t.ts"; export type D = T;
