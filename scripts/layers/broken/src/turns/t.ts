export type T = string;
