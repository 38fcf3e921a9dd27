import { deep } from "../../simulator/deep.ts"; export const c = deep;
