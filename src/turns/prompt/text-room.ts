import { isObject, type JsonObject, writeJson } from "../../base/json.ts";
import { estimateTokens } from "../../base/token-estimate.ts";
import type { ShownTool } from "../tools/names.ts";

/** A text of a tool that is no rule: its description, one in its schema, or what only people read there. */
interface ToolText {
  readonly size: number;
  /** Without its examples; 0 for what only people read. */
  readonly bare: number;
  /** Tokens of one character. */
  readonly weight: number;
}

/** How a prompt that does not fit shortens the texts of its tools. */
export interface ToolTexts {
  /** The most tokens that they can save. */
  readonly most: number;
  /** The longest that a text may be, in characters, so that all of them save so many tokens: the longest are shortened first. */
  roomFor(tokens: number): number;
  /** The share of the descriptions that arrives with that room, in percent, rounded down. */
  arrives(room: number): number;
}

/** The texts of tools. Linear in their length; each question is quick. */
export function toolTexts(tools: readonly ShownTool[]): ToolTexts {
  const texts: ToolText[] = [];
  const note = (text: string, isProse: boolean) => {
    const bare = isProse ? withoutExamples(text).length : 0;
    texts.push({ size: text.length, bare, weight: estimateTokens(text) / Math.max(1, text.length) });
    return text;
  };
  for (const { tool, shownParameters } of tools) {
    note(tool.description.trim(), true);
    if (tool.kind === "function") withTexts(shownParameters, note);
  }
  const saved = (room: number) => texts.reduce((sum, text) => sum + text.weight * (text.size - sizeIn(text, room)), 0);
  const longest = texts.reduce((most, { size }) => Math.max(most, size), 0);
  const prose = texts.filter(({ bare }) => bare > 0);
  return {
    most: Math.floor(saved(0)),
    roomFor(tokens) {
      let [least, most] = [0, longest];
      while (least < most) {
        const room = Math.ceil((least + most) / 2);
        if (saved(room) >= tokens) least = room;
        else most = room - 1;
      }
      return least;
    },
    arrives(room) {
      const all = prose.reduce((sum, { size }) => sum + size, 0);
      return Math.floor((100 * prose.reduce((sum, text) => sum + sizeIn(text, room), 0)) / Math.max(1, all));
    },
  };
}

function sizeIn({ size, bare }: ToolText, room: number): number {
  return size <= room && bare > 0 ? size : Math.min(bare, room);
}

/** A description in its room: whole, else without its examples, else its beginning. */
export function fitText(text: string, room: number): string {
  if (text.length <= room) return text;
  const bare = withoutExamples(text);
  if (bare.length <= room) return bare;
  const cut = bare.slice(0, Math.max(0, room - 2));
  const space = cut.search(/\s\S*$/);
  return space <= 0 ? "" : `${cut.slice(0, space).trimEnd()} …`;
}

/** A schema with its texts in their room. Its rules stay. */
export function fitSchema(schema: JsonObject, room: number): JsonObject {
  return withTexts(schema, (text, isProse) => (isProse ? fitText(text, room) : ""));
}

function withoutExamples(description: string): string {
  return withoutElement(withoutElement(description, "example"), "examples")
    .replace(/```[\s\S]*?```/g, "")
    .replace(/^[ \t]*(?:#+ *)?(?:usage )?examples?\b[^\n]*\n(?:(?![ \t]*\n)[^\n]*\n?)*/gim, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

/** A text without `<name>…</name>`. Behind the last end nothing is looked for: each search would go to the end of the text. */
function withoutElement(text: string, name: string): string {
  const last = [...text.matchAll(new RegExp(`</${name}>`, "gi"))].at(-1);
  if (last === undefined) return text;
  const end = last.index + last[0].length;
  const element = new RegExp(`<${name}\\b[^<>]*>[^]*?</${name}>`, "gi");
  return text.slice(0, end).replace(element, "") + text.slice(end);
}

/** Keys whose value maps names to schemas, so that a *property* called `description` is not taken for prose. */
const mapsOfSchemas = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
/** Keys whose value is data, not a schema. */
const data = new Set(["const", "enum", "default", "required"]);
/** Keys that no model needs. */
const forPeople = new Set(["$schema", "$comment", "title", "examples", "example"]);

/** A schema with its texts written anew. One that becomes empty is left out, with its key. */
function withTexts(schema: JsonObject, write: (text: string, isProse: boolean) => string): JsonObject {
  const inner = (value: unknown) => (isObject(value) ? withTexts(value, write) : value);
  const members = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    const isText = forPeople.has(key) || (key === "description" && typeof value === "string");
    if (isText) {
      const text = typeof value === "string" ? value : writeJson(value);
      const written = write(text, key === "description");
      return written === "" ? [] : [[key, written === text ? value : written]];
    }
    if (data.has(key)) return [[key, value]];
    if (mapsOfSchemas.has(key) && isObject(value))
      return [[key, Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inner(member)]))]];
    return [[key, Array.isArray(value) ? value.map(inner) : inner(value)]];
  });
  return Object.fromEntries(members);
}
