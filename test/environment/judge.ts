import type { CommandName, Ran, runRow } from "./place.ts";
import type { Row } from "./row.ts";

/** What each command must say on stdout. */
const wanted: Readonly<Record<CommandName, RegExp>> = {
  demo: /I am the Millrace simulator/,
  chat: /Good day from the agent\./,
  status: /http:\/\/127\.0\.0\.1:\d+/,
  models: /\S/,
  usage: /^/,
  doctor: /\S/,
  stop: /has stopped/,
};
/** These may find something wrong, as long as they say it. */
const mayComplain: ReadonlySet<string> = new Set(["usage", "doctor"]);
const bug =
  /bug in Millrace|Something went wrong inside|ExperimentalWarning|DeprecationWarning|^\s+at .*:\d+:\d+\)?$|node:internal/m;

/** What is wrong with a row; nothing if it holds. */
export function judge(
  { refuses, demo, more = [] }: Row,
  { ran, left, log }: Awaited<ReturnType<typeof runRow>>,
): readonly string[] {
  const faults = [...ran].flatMap(([name, each]) => {
    const refused = refuses !== undefined && (name !== "demo" || demo === "refuses");
    const says = more[Number(/^more-(\d+)$/.exec(name)?.[1])]?.[1] ?? wanted[name as CommandName];
    const why = broken(each) ?? (refused ? notRefused(name, each, refuses) : wrong(name, says, each));
    return why === undefined ? [] : [`  ${name}: ${why}\n${indented(each)}`];
  });
  if (log.trim() !== "") faults.push(`  the row itself: ${log.trim()}`);
  const files = left.filter((name) => /^millrace-(?![0-9a-f]{16}$)/.test(name)); // that form is a link, for sockets whose own path is too long
  if (files.length > 0) faults.push(`  left in the folder for temporary files: ${files.join(", ")}`);
  return faults;
}

/** What no command may do anywhere. */
function broken({ code, stdout, stderr }: Ran): string | undefined {
  if (code < 0) return "did not end";
  if (bug.test(stdout + stderr)) return "speaks of a bug, or shows a stack";
  return code === 64 || code === 70 ? `ended with ${code}` : undefined;
}

function wrong(name: string, says: RegExp, { code, stdout }: Ran): string | undefined {
  if (mayComplain.has(name)) return undefined;
  if (code !== 0) return `ended with ${code}`;
  return says.test(stdout) ? undefined : "says something else";
}

function notRefused(name: string, { code, stderr }: Ran, says: RegExp): string | undefined {
  if (name !== "chat" && name !== "demo") return undefined;
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
