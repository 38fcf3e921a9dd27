import { createHash } from "node:crypto";
import { isObject } from "../../base/json.ts";
import { ownTurn } from "../../base/node/unhurried.ts";

/** Members that choose the delivery and not the answer: a client that gives up streaming asks for the same answer without it. */
const delivery = new Set(["stream", "stream_options"]);

/** Characters, and values, that are digested in one turn of the event loop: some 5 ms. */
const slice = 1 << 20;
const mostValues = 10_000;

/** A member of a block that says where the vendor's cache ends: it stands in the newest blocks, so it moves. */
const cacheMark = "cache_control";

/** An item that a response of this gateway gave out: thinking, or text. Source: `itemId` of the Responses API. */
const givenOut = /^(?:rs|msg)_[0-9a-z]{26}_\d+$/;

/** What Claude Code and Qwen Code put at the end of a request after they lost the answer in the middle. */
const cutNote =
  /^(?:(?:<system-reminder>)?\s*Your response above was cut off mid-stream|The connection dropped mid-response\. Resume directly)\b/;

/** A digest of a question (`questionIn`), per API. */
export async function fingerprintOf(dialect: string, question: unknown): Promise<string> {
  const hash = createHash("sha256").update(dialect).update("\0");
  let [waiting, values] = ["", 0];
  for (const text of textsOf(question)) {
    waiting += text;
    if (++values < mostValues && waiting.length < slice) continue;
    hash.update(waiting, "utf16le"); // each character as it is, also half a pair
    [waiting, values] = ["", 0];
    await ownTurn();
  }
  return hash.update(waiting, "utf16le").digest("hex");
}

/** A value as texts that name no other value when joined: each length stands before what it counts. */
function* textsOf(whole: unknown): Generator<string, void> {
  const rest = [whole];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value === "string") {
      yield `"${value.length}:`;
      for (let at = 0; at < value.length; at += slice) yield value.slice(at, at + slice);
    } else if (Array.isArray(value)) {
      yield `[${value.length}:`;
      for (let i = value.length - 1; i >= 0; i--) rest.push(value[i]);
    } else if (typeof value === "object" && value !== null) {
      const members = Object.entries(value)
        .filter(([key]) => key !== cacheMark)
        .sort(([a], [b]) => (a < b ? -1 : 1));
      yield `{${members.length}:`;
      for (const [key, member] of members.reverse()) rest.push(member, key);
    } else yield `${String(value)};`;
  }
}

/**
 * The question of a body: a repeat has the same one, also without the streaming or with a note that the answer was cut (Claude Code, Qwen
 * Code), and with the parts of the answer that arrived before the cut (Codex and both). `kept`: the text of that answer at the end of the
 * messages, from which the client wants to go on. Source: docs/dev/wire/clients.md, "Silence and repeats".
 */
export function questionIn(body: unknown): { readonly question: unknown; readonly kept: string } {
  if (!isObject(body)) return { question: body, kept: "" };
  const question = Object.fromEntries(Object.entries(body).filter(([key]) => !delivery.has(key)));
  const { input, messages } = question;
  if (Array.isArray(input)) question["input"] = input.slice(0, input.findLastIndex((item) => !isGivenOut(item)) + 1);
  if (!Array.isArray(messages)) return { question, kept: "" };
  const { asked, kept } = withoutCut(messages);
  question["messages"] = asked;
  return { question, kept };
}

function isGivenOut(item: unknown): boolean {
  return isObject(item) && typeof item["id"] === "string" && givenOut.test(item["id"]);
}

/** The messages without notes at their end that the answer was cut, and without that answer; and the text of that answer. */
function withoutCut(messages: readonly unknown[]): { readonly asked: readonly unknown[]; readonly kept: string } {
  let end = messages.length;
  let kept = "";
  for (;;) {
    const last = messages[end - 1];
    if (!isObject(last) || last["role"] !== "user") break;
    const blocks = blocksOf(last);
    const own = blocks.findLastIndex((block) => !isCutNote(block)) + 1;
    if (own === blocks.length) break;
    if (own > 0) {
      const content = [...blocks.slice(0, own - 1), withoutBreak(blocks[own - 1])];
      return { asked: [...messages.slice(0, end - 1), { ...last, content }], kept };
    }
    end -= 1;
    const answered = messages[end - 1];
    if (!isObject(answered) || answered["role"] !== "assistant") continue;
    kept = blocksOf(answered).map(textOf).join("") + kept;
    end -= 1;
  }
  return { asked: messages.slice(0, end), kept };
}

function blocksOf({ content }: { readonly content?: unknown }): readonly unknown[] {
  return Array.isArray(content) ? content : [{ text: content }];
}

function textOf(block: unknown): string {
  return isObject(block) && typeof block["text"] === "string" ? block["text"] : "";
}

function isCutNote(block: unknown): boolean {
  return cutNote.test(textOf(block));
}

/** A text that another one follows in its message gets a line break. */
function withoutBreak(block: unknown): unknown {
  return isObject(block) && typeof block["text"] === "string"
    ? { ...block, text: block["text"].replace(/\n$/, "") }
    : block;
}
