import { y } from "./y.ts"; export const x = (): unknown => y;
