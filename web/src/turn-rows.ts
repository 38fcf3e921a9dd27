import type { TimelineEntry } from "./api.ts";
import { count, reasonInWords } from "./words.ts";

/** A line of a turn's page: entries of the log that belong together. */
export interface Row {
  readonly id: string;
  readonly type: string;
  /** ISO. */
  readonly at: string;
  readonly words: string;
}

/** Entries in order of time; deltas of one kind that follow each other are one row. */
export function rowsOf(entries: readonly TimelineEntry[]): readonly Row[] {
  const rows: Row[] = [];
  let group: TimelineEntry[] = [];
  const close = () => {
    if (group.length > 0) rows.push(rowOf(group));
    group = [];
  };
  let isUnderWay = false;
  for (const entry of entries) {
    if (entry.type === "started") isUnderWay = true;
    if (isUnderWay && isOutput(entry)) {
      isUnderWay = false;
      close();
      rows.push({ id: "accepted", type: "accepted", at: entry.at, words: "the prompt: the answer began" });
    }
    const last = group.at(-1);
    if (last !== undefined && !goesOn(last, entry)) close();
    group.push(entry);
  }
  close();
  return rows;
}

/** The answer as it stands: text, and thinking apart. Empty where texts are not shown. */
export function answerOf(entries: readonly TimelineEntry[]): { readonly text: string; readonly thinking: string } {
  let [text, thinking] = ["", ""];
  for (const entry of entries) {
    if (entry.type === "text") text += entry.text ?? "";
    else if (entry.type === "rewritten") text = entry.text ?? "";
    else if (entry.type === "thinking") thinking += entry.text ?? "";
  }
  return { text, thinking };
}

/** Whether the upstream has said something: only then it is certain that it accepted the prompt. */
function isOutput({ type }: TimelineEntry): boolean {
  return type === "text" || type === "thinking" || type === "tool_call" || type === "rewritten";
}

/** Whether an entry belongs to the row of the one before it. */
function goesOn(last: TimelineEntry, { type, detail }: TimelineEntry): boolean {
  const isDelta = type === "text" || type === "thinking" || type === "tool_call" || type === "unknown";
  return isDelta && last.type === type && last.detail === detail && last.done !== true;
}

function rowOf(group: readonly TimelineEntry[]): Row {
  const [first] = group;
  if (first === undefined) throw new Error("a row has an entry"); // never: only called with some
  const characters = group.reduce((sum, entry) => sum + (entry.characters ?? 0), 0);
  const deltas = group.length > 1 ? ` in ${count(group.length)} deltas` : "";
  const size = characters === 0 ? "" : `${count(characters)} ${characters === 1 ? "character" : "characters"}${deltas}`;
  const unknown = first.type === "unknown" ? `written by an older version that did not note its kind${deltas}` : "";
  const words = [detailOf(first), size, unknown].filter((part) => part !== null && part !== "").join(", ");
  return { id: first.id, type: titles[first.type] ?? first.type.replaceAll("_", " "), at: first.at, words };
}

function detailOf({ type, detail }: TimelineEntry): string | null {
  if (detail === null) return null;
  if (type === "cancelled") return reasonInWords(detail);
  return type === "usage" ? detail.replace(/\d+/g, (digits) => count(Number(digits))) : detail;
}

/** What a kind of event is called where its own name says little. */
const titles: Readonly<Record<string, string>> = { started: "opened", rewritten: "text rewritten" };
