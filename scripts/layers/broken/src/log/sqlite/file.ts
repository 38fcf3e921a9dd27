import { l } from "../knows-up.ts"; export const file = l;
