/**
 * The rows of a table whose rows have unit tests: a commit's run tries the first one through real processes. Each is tried with
 * `MILLRACE_TEST_TABLES=whole`, as `.ci/nightly` does.
 */
export function rowsOf<T>(all: readonly T[]): readonly T[] {
  return process.env["MILLRACE_TEST_TABLES"] === "whole" ? all : all.slice(0, 1);
}
