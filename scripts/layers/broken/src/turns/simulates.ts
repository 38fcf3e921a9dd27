import { simulate } from "../../simulator/index.ts"; export const u = simulate;
