import { isObject, type JsonObject } from "../../base/json.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { AnswerSoFar } from "../answer-diff.ts";
import { type TokenCounts, tokensIn } from "./token-counts.ts";

/** A step of the agent's own that does more than look: "edit (Write hello.txt)". */
type Effect = string;

/** Kinds of tools that change something. Every other kind may run: it is part of how the answer is found. */
const effects: ReadonlySet<unknown> = new Set(["edit", "delete", "move", "execute"]);

/** Kinds of tools that are neither an effect nor a look at anything. */
const inner: ReadonlySet<unknown> = new Set(["think", "switch_mode"]);

function isLook(tool: Tool): tool is Tool & { readonly kind: string } {
  const { kind, title } = tool;
  const isName = typeof kind === "string" && /^[a-z_]{1,40}$/.test(kind);
  return isName && !effects.has(kind) && !inner.has(kind) && !asksUser.test(title);
}

/** A question to the agent's own user. There is none here, so the agent would wait for ever. */
const asksUser = /\bask[_ ](?:the[_ ])?user/i;

interface Tool {
  kind: unknown;
  title: string;
}

/**
 * Reads the `session/update`s of one turn, live or replayed. Text on both sides of a tool step is joined by an empty line.
 * Unknown kinds of updates are skipped. Source: docs/wire/acp.md, "Prompts".
 */
export class UpdateReader {
  #text = "";
  #thinking = "";
  #afterTool = false;
  #effect: Effect | undefined;
  #tokens: TokenCounts | undefined;
  #stopped: string | undefined;
  #refused = false;
  readonly #tools = new Map<unknown, Tool>();

  get answer(): AnswerSoFar {
    return { text: this.#text, thinking: this.#thinking };
  }

  /** The first tool step with an effect, as a person would name it. */
  get effect(): Effect | undefined {
    return this.#effect;
  }

  /** The kinds of the tools with which the agent looked something up, each once: `read`, `search`. */
  get looked(): readonly string[] {
    return [...new Set([...this.#tools.values()].flatMap((tool) => (isLook(tool) ? [tool.kind] : [])))];
  }

  /** The agent's token counts so far, if an update gave them. */
  get tokens(): TokenCounts | undefined {
    return this.#tokens;
  }

  /** Devin's own word for why the turn stopped: "complete", "quota_exhausted". */
  get stopped(): string | undefined {
    return this.#stopped;
  }

  /** Whether a permission was refused, and no text came after it. */
  get endsRefused(): boolean {
    return this.#refused && this.#afterTool;
  }

  /** Whether the last thing that the agent did was to write text. */
  get endsInText(): boolean {
    return this.#text !== "" && !this.#afterTool;
  }

  /** The event of an update; undefined for an update that adds nothing to the answer. */
  read(update: JsonObject): TurnEventBody | undefined {
    switch (update["sessionUpdate"]) {
      case "agent_message_chunk":
        return this.#message(update);
      case "agent_thought_chunk": {
        const delta = textOf(update);
        if (delta === "") return undefined;
        this.#thinking += delta;
        return { type: "thinking", delta };
      }
      case "tool_call":
      case "tool_call_update":
        this.#step(update);
        return undefined;
      case "usage_update":
        this.#tokens = tokensIn(update["_meta"]) ?? this.#tokens;
        return undefined;
      default:
        return undefined;
    }
  }

  /** A request for permission: the agent waits for it, and it is refused. */
  readPermission(toolCall: JsonObject): void {
    this.#refused = true;
    this.#step(toolCall);
  }

  /** `_cognition.ai/agent_stopped`, which Devin sends before the reply. */
  readStopped(params: JsonObject): void {
    if (typeof params["cause"] === "string") this.#stopped = params["cause"];
    this.#tokens ??= tokensIn(params["stats"]);
  }

  #message(update: JsonObject): TurnEventBody | undefined {
    const meta = update["_meta"];
    if (isObject(meta) && meta["cognition.ai/displayMessage"] === true) return undefined;
    const chunk = textOf(update);
    if (chunk === "") return undefined;
    const delta = this.#afterTool && this.#text !== "" ? `\n\n${chunk}` : chunk;
    this.#afterTool = false;
    this.#refused = false;
    this.#text += delta;
    return { type: "text", delta };
  }

  #step(update: JsonObject): void {
    const id = update["toolCallId"];
    const tool = this.#tools.get(id) ?? { kind: undefined, title: "" };
    this.#tools.set(id, tool);
    this.#afterTool = true;
    if (update["kind"] !== undefined && update["kind"] !== null) tool.kind = update["kind"];
    if (typeof update["title"] === "string" && update["title"] !== "") tool.title = update["title"];
    if (effects.has(tool.kind) || asksUser.test(tool.title)) this.#effect ??= nameOf(tool);
  }
}

function nameOf({ kind, title }: Tool): string {
  const line = title.replaceAll(/\s+/g, " ").trim();
  const short = line.length > 80 ? `${line.slice(0, 79)}…` : line;
  return short === "" || short === kind ? String(kind) : `${String(kind)}: ${short}`;
}

/** The text of a chunk; other kinds of content (images, links) have none. */
export function textOf(update: JsonObject): string {
  const content = update["content"];
  return isObject(content) && typeof content["text"] === "string" ? content["text"] : "";
}
