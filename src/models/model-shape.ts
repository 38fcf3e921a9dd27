import { type Effort, isEffort } from "../base/effort.ts";

/** A model's name taken apart, so that two spellings of one model are equal. */
export interface ModelShape {
  /** Family and version: `claude-opus-4-7`. */
  readonly base: string;
  readonly effort: Effort | undefined;
  /** The other parts of a variant's name, sorted: `1m`, `fast`, `thinking`. */
  readonly lanes: string;
}

const laneTokens: ReadonlySet<string> = new Set(["fast", "thinking", "1m", "slow", "lightning"]);
/** Words of a vendor or product before the name: `anthropic/claude-…`, `windsurf:gpt-…`. */
const prefix = /^(?:[a-z0-9.-]+\/)+|^(?:windsurf|millrace):/;

/**
 * Takes a name, UID or label apart: `Claude Opus 4.7 High`, `claude-opus-4-7-high` and `claude-4.7-opus:high` are one shape.
 * Dots, colons, blanks and underscores are hyphens; `[1m]` is `-1m`; `priority` is `fast`; words of a Claude name come
 * before its version.
 *
 * Source: docs/dev/wire/account.md, "Names and suffixes".
 */
export function shapeOf(text: string): ModelShape {
  const tokens = tokensOf(text);
  const lanes = new Set<string>();
  let effort: Effort | undefined;
  while (tokens.length > 1) {
    const last = tokens.at(-1) ?? "";
    const previous = tokens.at(-2);
    if (last === "thinking" && previous === "no" && effort === undefined) {
      effort = "none";
      tokens.pop();
    } else if (laneTokens.has(last) && !lanes.has(last)) {
      lanes.add(last);
    } else if (effort === undefined && isEffort(last) && !(last === "max" && previous === "codex")) {
      effort = last;
    } else break;
    tokens.pop();
  }
  return { base: baseOf(tokens), effort, lanes: lanesOf([...lanes]) };
}

/** The lanes of a shape as its text. */
export function lanesOf(lanes: readonly string[]): string {
  return lanes.toSorted((a, b) => (a < b ? -1 : 1)).join("-");
}

/** One text for one shape. */
export function shapeKey({ base, effort, lanes }: ModelShape): string {
  return `${base}|${effort ?? ""}|${lanes}`;
}

/** A name without the date some clients append: `claude-sonnet-4-5-20250929`, `gpt-5.2-2025-12-11`, `…-latest`. */
export function withoutDate(text: string): string {
  return text.replace(/[-@](?:20\d{6}|20\d\d-\d\d-\d\d|latest)(?=$|\[|:)/, "");
}

function tokensOf(text: string): string[] {
  return text
    .trim()
    .toLowerCase()
    .replace(prefix, "")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/(?<=^|-)(?:x|extra)-high(?=-|$)/g, "xhigh")
    .split("-")
    .filter((token) => token !== "")
    .map((token) => (token === "priority" ? "fast" : token));
}

function baseOf(tokens: readonly string[]): string {
  const isNumber = (token: string) => /^\d+$/.test(token);
  const kept = tokens.filter(
    (token, i) => !(token === "0" && isNumber(tokens[i - 1] ?? "") && !isNumber(tokens[i + 1] ?? "")),
  );
  const ordered = kept[0] === "claude" ? [...kept.filter((t) => !isNumber(t)), ...kept.filter(isNumber)] : kept;
  return ordered.join("-");
}
