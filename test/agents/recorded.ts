import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What one version of an agent was seen to offer and to do; names only. */
export interface Sighting {
  readonly version: string;
  /** In its owner's editor: commands that it announces, tools that its model is offered, what of the owner's ran and was read. */
  readonly owner: { readonly commands: Names; readonly tools: Names; readonly ran: Names; readonly read: Names };
  /** Behind Millrace: the same, and the patterns of the files that it leaves in the home. */
  readonly behind: { readonly commands: Names; readonly tools: Names; readonly left: Names };
}

type Names = readonly string[];

const file = join(import.meta.dirname, "recorded.json");

export type Recorded = Readonly<Record<string, Sighting>>;

export function readRecorded(): Recorded {
  return JSON.parse(readFileSync(file, "utf8")) as Recorded; // this module's
}

export function writeRecorded(recorded: Recorded): void {
  writeFileSync(file, `${JSON.stringify(recorded, null, 2)}\n`);
}

/**
 * What is new in an agent since someone looked at it, and what the matrix plants without effect by now. A name that is gone is no
 * fault where the agent offers it: some come late, or not at all.
 */
export function news(known: Sighting | undefined, seen: Sighting): readonly string[] {
  if (known === undefined) return ["it was never looked at"];
  const added = (what: string, before: Names, now: Names) =>
    now.filter((name) => !before.includes(name)).map((name) => `a new ${what}: ${name}`);
  const lost = (what: string, before: Names, now: Names) =>
    before.filter((name) => !now.includes(name)).map((name) => `what was planted ${what} no more: ${name}`);
  return [
    ...added("command", known.owner.commands, seen.owner.commands),
    ...added("tool", known.owner.tools, seen.owner.tools),
    ...lost("runs", known.owner.ran, seen.owner.ran),
    ...lost("is read", known.owner.read, seen.owner.read),
    ...added("command behind Millrace", known.behind.commands, seen.behind.commands),
    ...added("tool behind Millrace", known.behind.tools, seen.behind.tools),
    ...added("file", known.behind.left, seen.behind.left),
  ];
}
