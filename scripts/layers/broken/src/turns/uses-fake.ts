import { fake } from "./thing.fake.ts"; export const k = fake;
