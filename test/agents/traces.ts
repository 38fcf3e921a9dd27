import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { workingFolder } from "../../src/backends/acp/known/agent-spec.ts";
import { isObject } from "../../src/base/json.ts";
import type { Owner } from "./owners/owner.ts";
import { digestOf, type Listing, listing, type TracedPlace } from "./place.ts";

/** What happened to the files of a home. */
export interface Traces {
  /** Files of the owner that are gone or have another content. */
  readonly changed: readonly string[];
  /** The agent's new files, by the pattern of their paths. */
  readonly left: readonly string[];
  /** The patterns of the files in which this text stands in the clear; `HOME` is the agent's own home. */
  readonly clear: readonly string[];
}

/** Words of a path that name the run, not the program: long ones with digits, a process and hex digits, dates, the folder of the home. */
const varying = /(?=[\w-]*\d)[\w-]{20,}|\d{3,}-[\da-f]+\b(?!-)|[\da-f]{12,}|\d{4}[\d-]*|ses_\w+|-tmp-[\w-]*home[\w-]*/g;

const ownHome = /^\.millrace\/acp\/[^/]+\/home\//;

/** Compares a home with what it was. Millrace's own files do not count, but what lies in the agent's working folder does. */
export function tracesOf(owner: Owner, place: TracedPlace, before: Listing, marker: string): Traces {
  const after = listing(place.home);
  const isAgents = (path: string) => !path.startsWith(".millrace/") || path.includes(`/${workingFolder}/`);
  const fresh = [...after].filter(([path, digest]) => isAgents(path) && before.get(path) !== digest);
  const clear = [...after.keys()].filter((path) => isAgents(path) || ownHome.test(path));
  return {
    changed: [...before.keys()].filter((path) => isAgents(path) && !isKept(owner, place, before, path)),
    left: patterns(fresh.flatMap(([path]) => (before.has(path) ? [] : [path]))),
    clear: patterns(
      clear.filter((path) => holds(join(place.home, path), marker)).map((path) => path.replace(ownHome, "HOME/")),
    ),
  };
}

/** A state file of the agent's own may grow, if what its owner wrote there stays. */
function isKept(owner: Owner, place: TracedPlace, before: Listing, path: string): boolean {
  const file = join(place.home, path);
  if (!existsSync(file)) return false;
  if (digestOf(file) === before.get(path)) return true;
  if (owner.known[path] === undefined) return false;
  const now: unknown = JSON.parse(readFileSync(file, "utf8"));
  return [true, false].some((free) => {
    const planted = owner.settings(place, free)[path];
    return planted !== undefined && contains(now, JSON.parse(planted));
  });
}

/** Whether a value still holds all of another one. */
function contains(value: unknown, part: unknown): boolean {
  if (!isObject(part)) return JSON.stringify(value) === JSON.stringify(part);
  return isObject(value) && Object.entries(part).every(([key, member]) => contains(value[key], member));
}

/** Paths without what differs from run to run; below the fourth folder `**` stands for all. */
export function patterns(paths: readonly string[]): readonly string[] {
  const cut = paths.map((path) => {
    const parts = path.replaceAll(varying, "*").split("/");
    return parts.length > 4 ? [...parts.slice(0, 3), "**"].join("/") : parts.join("/");
  });
  return [...new Set(cut)].sort();
}

function holds(file: string, text: string): boolean {
  try {
    return readFileSync(file).includes(text);
  } catch {
    return false; // it is gone already
  }
}
