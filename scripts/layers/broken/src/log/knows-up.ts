import { b } from "../backends/b.ts"; export const l = b;
