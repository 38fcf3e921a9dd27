import { nothing } from "./nowhere.ts"; export const n = nothing;
