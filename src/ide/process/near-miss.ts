import { variantOf } from "../../base/ide-name.ts";
import type { IdeVariant } from "../../language-server/transport/endpoint.ts";
import type { TraceEntry } from "../ide.ts";

/** A server of an IDE that may be prompted; it was found, but cannot be used. */
export interface NearMiss {
  /** `pid 4242`. */
  readonly subject: string;
  readonly variant: Exclude<IdeVariant, "antigravity">;
  /** The obstacle, for a person. */
  readonly why: string;
  /** The user's next step. */
  readonly todo: string;
}

const byHand =
  "write its CSRF token and API key into a file and set MILLRACE_IDE_ENDPOINT and MILLRACE_IDE_TOKEN_FILE (docs/platforms.md)";
const reload = "It may still be starting: try again in a moment; if it stays so, reload the IDE's window.";

/** The next step for each reason to give a server up. The most telling reason is first: of several ports, one is that of the service. */
const todos: readonly (readonly [rule: string, todo: string])[] = [
  ["owner", "Run millrace as the user who runs the IDE, on the same side of the container."],
  ["variant", "Leave out `--ide` and MILLRACE_IDE_VARIANT, or start the IDE that they name."],
  ["pid", "Start Millrace again with `--pid` of the IDE that runs now, or without `--pid`."],
  ["override", "Leave out MILLRACE_IDE_ENDPOINT: the port is found without it."],
  ["csrf-none", `Restart the IDE. If it stays so, ${byHand}.`],
  ["token_refused", `Restart the IDE. If it stays so, ${byHand}.`],
  ["shared", "End the other program that listens there, or restart the IDE: it takes another port."],
  ["loopback", `Set the IDE to listen on 127.0.0.1, or ${byHand}.`],
  ["timeout", reload],
  ["time", reload],
  ["not_found", reload],
  ["not_http", reload],
  ["closed", reload],
  ["listening", reload],
];

/**
 * Of the servers that a discovery rejected, the first (the newest) that belongs to an IDE. A message "Windsurf is not running" would
 * be wrong while it is on the screen, so the caller reports this server instead. Undefined when there was none. Antigravity does not
 * count, because it is never prompted; neither does a server in another home than the requested one.
 */
export function nearestMiss(trace: readonly TraceEntry[]): NearMiss | undefined {
  const isOthers = (entries: readonly TraceEntry[]) => entries.some(({ rule }) => rule === "pid"); // another one was named
  const servers = byServer(trace).toSorted((a, b) => Number(isOthers(a)) - Number(isOthers(b)));
  return servers.map(missOf).find((miss) => miss !== undefined);
}

/** The trace of each candidate: from its classification to the next one's. */
export function byServer(trace: readonly TraceEntry[]): readonly (readonly TraceEntry[])[] {
  const servers: TraceEntry[][] = [[]];
  let subject = "";
  for (const entry of trace) {
    const begins =
      entry.stage === "candidates" ||
      entry.stage === "agents" ||
      (entry.stage === "classify" && entry.subject !== subject);
    if (begins) {
      servers.push([]);
      ({ subject } = entry);
    }
    servers.at(-1)?.push(entry);
  }
  return servers;
}

/** Whether one of a server's ports answered. */
export function isFound(entries: readonly TraceEntry[]): boolean {
  return entries.some(({ stage, verdict }) => stage === "probe" && verdict === "kept");
}

function missOf(entries: readonly TraceEntry[]): NearMiss | undefined {
  const [first] = entries;
  if (first?.stage !== "classify" || isFound(entries)) return undefined;
  const variant = variantIn(first);
  const rejected = entries
    .filter(({ verdict, rule }) => verdict === "rejected" && rankOf(rule) < todos.length)
    .toSorted((a, b) => rankOf(a.rule) - rankOf(b.rule))[0];
  if (variant === undefined || rejected === undefined) return undefined;
  const { subject, why } = rejected;
  return {
    subject: first.subject,
    variant,
    why: subject === first.subject ? why.replace(/^[a-z-]+(?:: |, but )/, "") : `${subject}: ${why}`,
    todo: todos[rankOf(rejected.rule)]?.[1] ?? reload,
  };
}

function rankOf(rule: string): number {
  const rank = todos.findIndex(([known]) => known === rule);
  return rank < 0 ? todos.length : rank;
}

/** A classification that was kept is the IDE's name; one that was not begins with it. */
function variantIn({ why }: TraceEntry): NearMiss["variant"] | undefined {
  const variant = variantOf(/^[a-z-]+(?=$|[:,])/.exec(why)?.[0] ?? "");
  return variant === "antigravity" ? undefined : variant;
}
