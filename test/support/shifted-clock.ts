/** Loaded into a gateway: its wall clock is as far off as a file says, at each moment. */
const shifted = `import { readFileSync } from "node:fs";
const now = Date.now;
Date.now = () => now() + Number(readFileSync(process.env.MILLRACE_TEST_CLOCK, "utf8"));`;

/** The variables of a program whose wall clock is as many milliseconds off as this file says. */
export function shiftedBy(file: string): Readonly<Record<string, string>> {
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(shifted)}`;
  return { NODE_OPTIONS, MILLRACE_TEST_CLOCK: file };
}
