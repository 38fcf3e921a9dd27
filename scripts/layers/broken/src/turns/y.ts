import { x } from "./x.ts"; export const y = (): unknown => x;
