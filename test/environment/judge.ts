import type { Ran, runRow, Step } from "./place.ts";
import type { Row } from "./row.ts";

/** What each step must say on stdout. */
const wanted: Readonly<Record<Step, RegExp>> = {
  demo: /I am the Millrace simulator/,
  found: /I am the Millrace simulator/,
  serve: /http:\/\/127\.0\.0\.1:\d+/,
  chat: /Good day from the agent\./,
  status: /http:\/\/127\.0\.0\.1:\d+/,
  models: /\S/,
  usage: /^/,
  doctor: /\S/,
  run: /^http:\/\/127\.0\.0\.1:\d+ .*--say$/m,
  setup: /\(new\)/,
  undo: /\(removed\)/,
  kill: /Good day from the agent\./,
  update: /^Now this is \S+\+2222bbbb\.[\s\S]*\+2222bbbb\n[\s\S]*Good day from the agent\.[\s\S]*\+0123abcd\n/m,
  stop: /has stopped/,
  uninstall: /\S/,
};
/** These may find something wrong, as long as they say it. */
const mayComplain: ReadonlySet<string> = new Set(["usage", "doctor"]);
const bug =
  /bug in Millrace|Something went wrong inside|ExperimentalWarning|DeprecationWarning|^\s+at .*:\d+:\d+\)?$|node:internal/m;

/** What is wrong with each step of a row, and with the row as a whole; nothing if it holds. */
export function judge(row: Row, { ran, left, log }: Awaited<ReturnType<typeof runRow>>): ReadonlyMap<string, string> {
  const { refuses, demo, cannot = {}, more = [] } = row;
  const faults = new Map<string, string>();
  for (const [name, each] of ran) {
    const isElsewhere = name === "demo" || name === "found"; // in a home of its own
    const no = cannot[name as Step];
    const refused = no ?? (isElsewhere && demo === undefined ? undefined : refuses);
    const says = more[Number(/^more-(\d+)$/.exec(name)?.[1])]?.[1] ?? wanted[name as Step];
    const mayVary = no === undefined && !isElsewhere && name !== "chat"; // such as "no gateway runs"
    const why =
      broken(each, refused !== undefined) ??
      (refused === undefined ? wrong(name, says, each) : mayVary ? undefined : notRefused(each, refused));
    if (why !== undefined) faults.set(name, `${why}\n${indented(each)}`);
  }
  const files = left.filter((name) => /^\.millrace$|^millrace-(?![0-9a-f]{16}$)/.test(name)); // that form is a link, for sockets whose own path is too long
  if (refuses === undefined && files.length > 0) faults.set("uninstall", `left: ${files.join(", ")}`);
  if (log.trim() !== "") faults.set("the row itself", log.trim());
  return faults;
}

/** What no command may do anywhere. */
function broken({ code, stdout, stderr }: Ran, refused: boolean): string | undefined {
  if (code < 0) return "did not end";
  if (bug.test(stdout + stderr)) return "speaks of a bug, or shows a stack";
  return (code === 64 && !refused) || code === 70 ? `ended with ${code}` : undefined;
}

function wrong(name: string, says: RegExp, { code, stdout }: Ran): string | undefined {
  if (mayComplain.has(name)) return undefined;
  if (code !== 0) return `ended with ${code}`;
  return says.test(stdout) ? undefined : "says something else";
}

function notRefused({ code, stderr }: Ran, says: RegExp): string | undefined {
  if (code === 0) return "did not refuse";
  return says.test(stderr) ? undefined : "refuses in other words";
}

function indented({ stdout, stderr }: Ran): string {
  const shown = (text: string) =>
    text
      .trim()
      .split("\n")
      .slice(-12)
      .map((line) => `      ${line}\n`)
      .join("");
  return `    stdout\n${shown(stdout)}    stderr\n${shown(stderr)}`;
}
