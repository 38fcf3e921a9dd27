import { type TurnPlan, turnPlanSchema } from "./turn-plan.ts";

const directive = /\[\[sim:([^\]]*(?:\](?!\])[^\]]*)*)\]\]/g;
const assignment = /([a-z][a-z-]*)(?:=(?:"((?:[^"\\]|\\.)*)"|([^\s"]+)))?/gy;

/** The plan from the directives of a prompt, the prompt without them, and the directives that could not be understood. */
interface Directives {
  readonly plan: TurnPlan;
  readonly text: string;
  readonly problems: readonly string[];
}

/**
 * Reads `[[sim: key=value key key="a b"]]` anywhere in a text: the keys of `TurnPlan` in kebab-case, a bare key meaning
 * true. Later ones win; `reset` forgets all before it, because clients send the whole conversation each time.
 */
export function readDirectives(text: string): Directives {
  let plan: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const match of text.matchAll(directive)) {
    for (const [key, value] of assignments(match[1] ?? "", problems)) {
      if (key === "reset") {
        plan = {};
        continue;
      }
      const parsed = turnPlanSchema.safeParse({ [key]: value });
      if (parsed.success) plan = { ...plan, ...parsed.data };
      else problems.push(`${kebab(key)}: ${parsed.error.issues[0]?.message ?? "not understood"}`);
    }
  }
  return { plan, text: text.replaceAll(directive, "").trim(), problems };
}

function assignments(body: string, problems: string[]): [string, unknown][] {
  const found: [string, unknown][] = [];
  let at = 0;
  for (;;) {
    at += /^[\s,]*/.exec(body.slice(at))?.[0].length ?? 0;
    if (at >= body.length) return found;
    assignment.lastIndex = at;
    const match = assignment.exec(body);
    if (match === null) {
      problems.push(`cannot read ${JSON.stringify(body.slice(at))}`);
      return found;
    }
    at = assignment.lastIndex;
    const [, key = "", quoted, bare] = match;
    found.push([camel(key), quoted === undefined ? literal(bare) : quoted.replaceAll(/\\(.)/g, unescape)]);
  }
}

function unescape(_: string, character: string): string {
  return character === "n" ? "\n" : character;
}

function literal(word: string | undefined): unknown {
  if (word === undefined || word === "true" || word === "on") return true;
  if (word === "false" || word === "off") return false;
  const number = Number(word);
  return Number.isNaN(number) ? word : number;
}

function camel(key: string): string {
  return key.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function kebab(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
