/**
 * The rows of a table whose rows have unit tests, or differ little: a commit's run tries the first ones through real processes. Each is
 * tried with `MILLRACE_TEST_TABLES=whole`, as `.ci/nightly` does.
 */
export function rowsOf<T>(all: readonly T[], inCommit = 1): readonly T[] {
  return process.env["MILLRACE_TEST_TABLES"] === "whole" ? all : all.slice(0, inCommit);
}
