import { isObject, type JsonObject } from "../../../base/json.ts";
import { oneLine, shortened } from "../../../base/shown-text.ts";
import type { TurnEventBody } from "../../../log/event.ts";
import type { AnswerSoFar } from "../../answer-diff.ts";
import { isActing, type ToolStep } from "../known/tool-names.ts";
import { devinMethods } from "../process/session-router.ts";
import { type TokenCounts, tokensIn } from "../wire/token-counts.ts";
import type { SessionTools } from "./session-tools.ts";

/** A step of the agent's own that does more than look. */
export interface Effect {
  /** The kind and the agent's words for it: "edit: Write hello.txt". */
  readonly name: string;
  readonly kind: string;
  /** The agent's words, where they say more than the kind. */
  readonly title: string;
  /** `done`: the agent finished it. `prevented`: refused, or failed. `begun`: neither is known. */
  readonly state: "done" | "prevented" | "begun";
}

/** Kinds of tools that change something. Every other kind may run: it is part of how the answer is found. */
const effects: ReadonlySet<unknown> = new Set(["edit", "delete", "move", "execute"]);

/** Kinds of tools that are neither an effect nor a look at anything. */
const inner: ReadonlySet<unknown> = new Set(["think", "switch_mode"]);

function isLook(tool: Tool): tool is Tool & { readonly kind: string } {
  const { kind, title, isOurs } = tool;
  if (isOurs) return false;
  const isName = typeof kind === "string" && /^[a-z_]{1,40}$/.test(kind);
  return isName && !effects.has(kind) && !inner.has(kind) && !asksUser.test(title);
}

/** A question to the agent's own user. There is none here, so the agent would wait for ever. */
const asksUser = /\bask[_ ](?:the[_ ])?user/i;

/** Agents that shorten a long conversation show it as a step. Source: docs/dev/wire/acp.md, "Notices". */
function isCompaction({ kind, title }: Tool): boolean {
  return kind === "think" && title === "Compact conversation";
}

interface Tool extends ToolStep {
  status?: unknown;
  refused: boolean;
  /** A call of the client's tools. */
  isOurs: boolean;
}

/** Lines that an agent writes about itself where the answer belongs, each alone in its chunk and without any mark. Source: docs/dev/wire/acp.md, "Notices". */
const notices = [/^(?:Warning: )?Model metadata for `[^`\n]+` not found\. [^\n]*$/, /^\[MODE_UPDATE\] [\w-]+$/];

/** Claude marks what its program says in place of its model. Source: docs/dev/wire/acp.md, "Notices". */
function isMarkedNotice(meta: unknown): boolean {
  const own = isObject(meta) ? meta["claudeCode"] : undefined;
  return isObject(own) && (own["kind"] === "informational" || own["kind"] === "mcpServerStatus");
}

/**
 * Reads the `session/update`s of one turn, live or replayed. Text on both sides of a tool step is joined by an empty line.
 * Unknown kinds of updates are skipped. Source: docs/dev/wire/acp.md, "Prompts".
 */
export class UpdateReader {
  #text = "";
  #thinking = "";
  #afterTool = false;
  #refused = false;
  /** The agent gave the token counts of the message that it wrote last. */
  #isCounted = false;
  /** Whether the answer ends in a question that the agent put to its own user. */
  isQuestion = false;
  /** How many permissions the agent asked for. */
  permissions = 0;
  /** The agent's token counts so far, if an update gave them. */
  tokens: TokenCounts | undefined;
  /** Devin's own word for why the turn stopped: "complete", "quota_exhausted". */
  stopped: string | undefined;
  /** Devin's notice about the plan: "Weekly quota: 90 % is used." */
  billing: string | undefined;
  /** The agent lost its connection to the model, tries it again, and has written nothing since. */
  isRetrying = false;
  readonly #tools = new Map<unknown, Tool>();
  readonly #owner: Pick<SessionTools, "owns"> | undefined;

  /** `owner` knows the client's tools: a step that is a call of them is no step of the agent's own. */
  constructor(owner?: Pick<SessionTools, "owns">) {
    this.#owner = owner;
  }

  /** How many calls of the client's tools the agent has announced and not ended. */
  get announced(): number {
    return [...this.#tools.values()].filter(({ isOurs, status }) => isOurs && !ended.has(status)).length;
  }

  /** Whether the agent used tools of its own and none of the client's. */
  get prefersOwnTools(): boolean {
    const isOurs = [...this.#tools.values()].some((tool) => tool.isOurs);
    return !isOurs && (this.looked.length > 0 || this.effect !== undefined);
  }

  /** The answer begins anew: a turn that goes on with this prompt has its own text. */
  begin(): void {
    this.#text = "";
    this.#thinking = "";
    this.#afterTool = false;
    this.tokens = undefined;
  }

  get answer(): AnswerSoFar {
    return { text: this.#text, thinking: this.#thinking };
  }

  /** The tool step with an effect: the first one that was done, else the first one. */
  get effect(): Effect | undefined {
    return this.#stepOf(
      ({ kind, title, isOurs }) => !isOurs && (effects.has(kind) || (asksUser.test(title) && !this.isQuestion)),
    );
  }

  /** The step for which the agent used a tool of its own, of any kind: the first one that was done, else the first that did not fail. */
  get use(): Effect | undefined {
    return this.#stepOf(
      (tool) =>
        !(tool.isOurs || tool.refused || tool.status === "failed" || asksUser.test(tool.title) || isCompaction(tool)),
    );
  }

  #stepOf(fits: (tool: Tool) => boolean): Effect | undefined {
    const found = [...this.#tools.values()].filter(fits);
    const tool = found.find(({ status }) => status === "completed") ?? found[0];
    return tool && effectOf(tool);
  }

  /** The kinds of the tools with which the agent looked something up, each once: `read`, `search`. */
  get looked(): readonly string[] {
    return [...new Set([...this.#tools.values()].flatMap((tool) => (isLook(tool) ? [tool.kind] : [])))];
  }

  /** The kinds of the tools whose effect is there, each once: `edit`. */
  get changed(): readonly string[] {
    const done = [...this.#tools.values()].filter(({ kind, status }) => effects.has(kind) && status === "completed");
    return [...new Set(done.map(({ kind }) => String(kind)))];
  }

  /** Whether a permission was refused, and no text came after it. */
  get endsRefused(): boolean {
    return this.#refused && this.#afterTool;
  }

  /**
   * Whether these updates say themselves that the answer ended: Devin by a notification, Qwen Code by the token counts of its last
   * message. Text alone is no sign: agents store the half of an answer that breaks off. Source: docs/dev/wire/acp.md, "After a crash".
   */
  get hasEnd(): boolean {
    return this.stopped !== undefined || (this.#isCounted && this.#text !== "" && !this.#afterTool);
  }

  /** The event of an update; undefined for an update that adds nothing to the answer. */
  read(update: JsonObject): TurnEventBody | undefined {
    this.isRetrying = false;
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
        return this.#note(update).event;
      case "usage_update":
        this.tokens = tokensIn(update["_meta"]) ?? this.tokens;
        return undefined;
      default:
        return undefined;
    }
  }

  /** A request for permission: true where it is for a call of the client's tools; else it is refused. */
  readPermission(toolCall: JsonObject): boolean {
    const { event: _, tool } = this.#note(toolCall);
    if (tool.isOurs) return true;
    tool.refused = true;
    this.#refused = true;
    this.permissions++;
    return false;
  }

  /** The agent's question to its user, which becomes the end of the answer. Undefined for one without words, or a second one. */
  readQuestion(question: string): TurnEventBody | undefined {
    if (question.trim() === "" || this.isQuestion) return undefined;
    this.isQuestion = true;
    const delta = this.#text === "" ? question : `\n\n${question}`;
    this.#text += delta;
    return { type: "text", delta };
  }

  /** A notification of Devin's own. Source: docs/dev/wire/acp.md, "Prompts". */
  readVendor(method: string, params: JsonObject): void {
    if (method === devinMethods.stopped) this.readStopped(params);
    else if (method === devinMethods.retry) this.isRetrying = true;
    else if (method === devinMethods.billing) {
      const words = [params["title"], params["body"]].filter((text) => typeof text === "string" && text !== "");
      if (words.length > 0) this.billing = words.join(": ");
    }
  }

  /** `agent_stopped`, which comes before the reply, live or replayed. */
  readStopped(params: JsonObject): void {
    if (typeof params["cause"] === "string") this.stopped = params["cause"];
    this.tokens ??= tokensIn(params["stats"]);
  }

  #message(update: JsonObject): TurnEventBody | undefined {
    const meta = update["_meta"];
    if (isObject(meta) && meta["cognition.ai/displayMessage"] === true) return undefined;
    const counts = isObject(meta) ? tokensIn(meta["usage"]) : undefined;
    this.#isCounted = counts !== undefined;
    this.tokens = counts ?? this.tokens;
    const chunk = textOf(update);
    if (chunk === "") return undefined;
    const line = chunk.trim();
    if (isMarkedNotice(meta) || notices.some((notice) => notice.test(line))) return undefined;
    const delta = this.#afterTool && this.#text !== "" ? `\n\n${chunk}` : chunk;
    this.#afterTool = false;
    this.#refused = false;
    this.#text += delta;
    return { type: "text", delta };
  }

  #note(update: JsonObject): { readonly tool: Tool; readonly event: TurnEventBody | undefined } {
    const id = update["toolCallId"];
    const tool: Tool = this.#tools.get(id) ?? { title: "", refused: false, isOurs: false };
    this.#tools.set(id, tool);
    this.#afterTool = true;
    if (update["kind"] !== undefined && update["kind"] !== null) tool.kind = update["kind"];
    if (typeof update["title"] === "string" && update["title"] !== "") tool.title = update["title"];
    if (typeof update["name"] === "string") tool.name = update["name"];
    if (isObject(update["rawInput"])) tool.input = update["rawInput"];
    if (update["status"] !== undefined && update["status"] !== null) tool.status = update["status"];
    tool.isOurs = this.#owner?.owns(tool) === true || (tool.isOurs && !isActing(tool.kind)); // a title may change, as it goes on
    const asks = !tool.isOurs && asksUser.test(tool.title);
    return { tool, event: asks ? this.readQuestion(questionIn(update["rawInput"])) : undefined };
  }
}

const ended: ReadonlySet<unknown> = new Set(["completed", "failed"]);

function effectOf({ kind, title, status, refused }: Tool): Effect {
  const short = shortened(oneLine(title), 80);
  const words = short === kind ? "" : short;
  const state = status === "completed" ? "done" : refused || status === "failed" ? "prevented" : "begun";
  return { name: words === "" ? String(kind) : `${String(kind)}: ${words}`, kind: String(kind), title: words, state };
}

/** The words of a question in a tool's input: `{question}` or `{questions: [{question}]}`. */
function questionIn(input: unknown): string {
  if (!isObject(input)) return "";
  const { question, questions } = input;
  if (typeof question === "string") return question;
  const all = Array.isArray(questions) ? questions.map(questionIn) : [];
  return all.filter((each) => each !== "").join("\n");
}

/** Whether an update is a step of work on a prompt; the others are about the session, and come at any time. */
export function isWork({ sessionUpdate }: JsonObject): boolean {
  return typeof sessionUpdate === "string" && /^(?:agent_|tool_call|plan)/.test(sessionUpdate);
}

/** The text of a chunk; other kinds of content (images, links) have none. */
export function textOf(update: JsonObject): string {
  const content = update["content"];
  return isObject(content) && typeof content["text"] === "string" ? content["text"] : "";
}
