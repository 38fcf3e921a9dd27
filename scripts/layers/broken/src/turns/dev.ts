import fc from "fast-check"; export const f = fc;
