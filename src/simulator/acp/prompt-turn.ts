import { orAborted } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { readDirectives } from "../faults/directives.ts";
import { type ErrorName, errorTexts } from "../faults/error-texts.ts";
import { mergePlans, type TurnPlan } from "../faults/turn-plan.ts";
import { conversationOf, nowOf } from "../model/conversation.ts";
import { helper } from "../model/helper.ts";
import { countTokens, type Model, type ModelPrompt } from "../model/model.ts";
import { upstreamModel } from "../model/upstream.ts";
import type { Gate } from "../trajectory/gate.ts";
import { Growth, type Mark } from "../trajectory/growth.ts";
import { paceOf } from "../trajectory/pace.ts";
import type { AgentSettings } from "./desk-protocol.ts";
import { causeOf, codes, turnError, vendorError } from "./errors.ts";
import { internalError, RpcError } from "./json-rpc.ts";
import type { StoredNode } from "./session-store.ts";
import type { IncomingPrompt } from "./split-prompt.ts";

/** What the model of a turn is asked, and how the turn goes. */
export interface TurnTask {
  readonly model: ModelPrompt;
  readonly plan: TurnPlan;
  /** A directive that nobody understands. */
  readonly problem: string | undefined;
}

/** What a turn does to its session, its client and its process. */
export interface TurnHands {
  readonly clock: Clock;
  readonly gate: Gate;
  readonly newId: () => string;
  readonly newModel: () => Model;
  /** Shows an update to the client. */
  readonly update: (update: object) => void;
  /** Keeps a piece of the conversation on disk. */
  readonly keep: (node: StoredNode) => void;
  /** Asks the client; rejects with its error. */
  readonly ask: (method: string, params: object) => Promise<unknown>;
  readonly permissionAnswered: (outcome: string) => Promise<void>;
  readonly diagnosticsAnswered: (answered: boolean) => Promise<void>;
  /** The process dies; never resolves. */
  readonly crash: () => Promise<never>;
}

/** How the agent of this process treats its tools. */
export interface ToolRules {
  /** A type without tools: neither reads nor writes are tried. */
  readonly none: boolean;
  readonly mode: string;
  readonly askAgain: number;
  readonly cwd: string;
}

export interface TurnEnd {
  readonly stopReason: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly toolCalls: number;
}

/** Fails a turn, with the cause that `agent_stopped` tells. */
export class TurnStopped extends Error {
  override readonly cause: string;
  readonly reply: RpcError;
  constructor(cause: string, reply: RpcError) {
    super(reply.message);
    this.cause = cause;
    this.reply = reply;
  }
}

/** Reads a prompt: directives of the simulator apart from what the model is asked. */
export function turnTask(
  prompt: IncomingPrompt,
  defaults: TurnPlan,
  history: readonly StoredNode[],
  model: { readonly id: string; readonly name: string; readonly thinks: boolean },
): TurnTask {
  const fromInstructions = readDirectives(prompt.instructions);
  const fromText = readDirectives(nowOf(prompt.text));
  const plan = mergePlans(defaults, fromInstructions.plan, fromText.plan);
  return {
    plan,
    problem: [...fromInstructions.problems, ...fromText.problems][0],
    model: {
      text: prompt.text,
      asked: fromText.text,
      instructions: prompt.instructions,
      history: history.flatMap(({ role, body, kind }) =>
        kind === "text" && (role === "user" || role === "assistant") ? [{ role, text: body }] : [],
      ),
      images: prompt.images,
      modelUid: model.id,
      modelLabel: model.name,
      thinks: model.thinks,
      maxOutputTokens: 64_000,
      outputLimit: undefined,
      plan,
    },
  };
}

/** The model that the simulator was told to use. */
export function modelOf({ modelUrl, modelName, modelKey }: AgentSettings): Model {
  return modelUrl === undefined ? helper : upstreamModel(modelUrl, modelName, modelKey);
}

/** A role that summarises what it is given; a request framed as an execution trace is carried on instead. */
export function summarised(task: TurnTask, how: "unframed" | "always"): TurnTask {
  const { model } = task;
  const whole = `${model.instructions}\n${model.text}`;
  if (how === "unframed" && /execution trace/i.test(whole)) return task;
  const asked = conversationOf(model.text).at(-1)?.text ?? model.text;
  const text = `Summary: the user asked ${JSON.stringify(asked.replaceAll(/\s+/g, " ").slice(0, 120))}. No work was done yet.`;
  const plan = { ...task.plan, text };
  return { ...task, plan, model: { ...model, plan } };
}

/**
 * Runs a prompt that is stored, to its end. Aborting the signal is `session/cancel`.
 *
 * @throws TurnStopped with the reply's error; the signal's reason when it was cancelled.
 */
export async function runPromptTurn(
  task: TurnTask,
  tools: ToolRules,
  hands: TurnHands,
  signal: AbortSignal,
): Promise<TurnEnd> {
  return await new PromptTurn(task, tools, hands, signal).run();
}

class PromptTurn {
  readonly #task: TurnTask;
  readonly #tools: ToolRules;
  readonly #hands: TurnHands;
  readonly #signal: AbortSignal;
  readonly #released: Promise<void>;
  #toolCalls = 0;
  #said = "";
  #thought = "";

  constructor(task: TurnTask, tools: ToolRules, hands: TurnHands, signal: AbortSignal) {
    this.#task = task;
    this.#tools = tools;
    this.#hands = hands;
    this.#signal = signal;
    this.#released = hands.gate.opens;
  }

  async run(): Promise<TurnEnd> {
    const { plan, problem } = this.#task;
    const { clock } = this.#hands;
    const pace = paceOf(plan);
    if (problem !== undefined) this.#stop("internal", `simulator: a directive in the prompt is wrong: ${problem}`);
    if (plan.hang === true) await this.#waitForever();
    await this.#sleep(pace.inputMs + pace.firstMs);
    if (plan.diagnostics === true) await this.#askForDiagnostics();
    if (plan.waiting === true) await this.#waitForAnswer();
    const reads = plan.tools ?? (plan.toolOnly === true ? 1 : 0);
    if (!this.#tools.none) {
      for (let i = 0; i < reads; i++) await this.#read();
      for (let i = 0; i < (plan.writes ?? 0); i++) await this.#write(i);
    }
    if (plan.compaction === true) this.#notice("Compacting the conversation…");
    let usage = { inputTokens: 0, outputTokens: 0 };
    if (plan.toolOnly !== true) usage = (await this.#answer(clock)) ?? usage;
    return {
      stopReason: plan.stopReason ?? "end_turn",
      inputTokens: usage.inputTokens || this.#countedInput(),
      outputTokens: usage.outputTokens || countTokens(this.#said) + countTokens(this.#thought),
      toolCalls: this.#toolCalls,
    };
  }

  async #answer(clock: Clock) {
    const { plan, model: prompt } = this.#task;
    const model = this.#hands.newModel();
    const pace = { ...paceOf(plan), ...(model.live ? { charsPerSecond: Infinity } : {}) };
    const growth = new Growth({ ...pace, marks: this.#marks(), clock });
    const id = this.#hands.newId();
    let usage: { readonly inputTokens: number; readonly outputTokens: number } | undefined;
    for await (const delta of this.#deltas(model, prompt)) {
      this.#signal.throwIfAborted();
      if (delta.kind === "usage") {
        usage = delta;
      } else if (delta.kind === "thinking") {
        const thinking = new Growth({ ...pace, marks: [], clock });
        if (plan.redacted !== true) await thinking.grow(delta.text, (piece) => this.#think(id, piece), this.#signal);
        if (plan.thinkMs !== undefined) await this.#sleep(plan.thinkMs);
      } else {
        await growth.grow(delta.text, (piece) => this.#say(id, piece), this.#signal);
        if (plan.crashAt === "mid-answer") await this.#hands.crash(); // one that came as a single piece
      }
    }
    await growth.finish();
    return usage;
  }

  /** What the model says; its own failure is the turn's. */
  async *#deltas(model: Model, prompt: ModelPrompt) {
    try {
      yield* model.answer(prompt, this.#signal);
    } catch (error) {
      if (this.#signal.aborted || error instanceof TurnStopped) throw error;
      const text = error instanceof Error ? error.message : String(error);
      throw new TurnStopped("error", vendorError(codes.internal, text, "internal", true));
    }
  }

  /** What happens on the way, by the length of the answer. */
  #marks(): Mark[] {
    const { plan } = this.#task;
    const marks: Mark[] = [];
    if (plan.stallMs !== undefined) {
      const ms = plan.stallMs;
      marks.push({ at: plan.stallAfter ?? 0, act: () => this.#sleep(ms) });
    }
    if (plan.holdAfter !== undefined) {
      marks.push({ at: plan.holdAfter, act: () => orAborted(this.#released, this.#signal) });
    }
    if (plan.checkpointAfter !== undefined) {
      marks.push({ at: plan.checkpointAfter, act: () => this.#notice("Conversation compacted.") });
    }
    if (plan.restartAfter !== undefined) marks.push({ at: plan.restartAfter, act: () => this.#hands.crash() });
    if (plan.crashAt === "mid-answer") {
      marks.push({ at: Math.max(1, Math.floor((plan.size ?? 2) / 2)), act: () => this.#hands.crash() });
    }
    if (plan.error !== undefined && plan.errorAt !== "send") {
      const name = plan.error;
      marks.push({ at: plan.errorAfter ?? 0, act: () => this.#stop(name, errorTexts(name).text) });
    }
    return marks;
  }

  #stop(name: ErrorName, text: string): never {
    throw new TurnStopped(causeOf(name), turnError(name, text));
  }

  #say(message: string, text: string): void {
    this.#said += text;
    this.#hands.keep({ message, role: "assistant", kind: "text", body: text });
    this.#hands.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  }

  #think(message: string, text: string): void {
    this.#thought += text;
    this.#hands.keep({ message, role: "thought", kind: "text", body: text });
    this.#hands.update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text } });
  }

  /** A message of the program itself, which is no part of the answer. */
  #notice(text: string): void {
    this.#hands.update({
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text },
      _meta: { "cognition.ai/displayMessage": true },
    });
  }

  async #read(): Promise<void> {
    const call = this.#newCall("List the working folder", "read", { path: this.#tools.cwd });
    await this.#step();
    this.#callUpdate(call, { status: "completed", content: [textContent("The folder is empty.")] });
  }

  /** A write, tried again after each rejection until the agent gives up. */
  async #write(nth: number): Promise<void> {
    const path = `${this.#tools.cwd}/millrace-${nth + 1}.txt`;
    for (let tries = 0; ; tries++) {
      const call = this.#newCall(`Write ${path}`, "edit", { path, content: "hello" });
      const verdict = await this.#mayWrite(call);
      if (verdict === "yes") {
        await this.#step();
        this.#callUpdate(call, { status: "completed", content: [textContent("Written.")] });
        return;
      }
      const why = verdict === "mode" ? "Ask mode does not allow changes." : "The user rejected this tool call.";
      this.#callUpdate(call, { status: "failed", content: [textContent(why)] });
      if (verdict === "mode" || tries >= this.#tools.askAgain) return;
    }
  }

  async #mayWrite(toolCallId: string): Promise<"yes" | "no" | "mode"> {
    const { mode } = this.#tools;
    if (mode === "ask" || mode === "plan") return "mode";
    if (mode === "bypass") return "yes";
    const outcome = await this.#permission(toolCallId);
    await this.#hands.permissionAnswered(outcome);
    this.#signal.throwIfAborted();
    return outcome.startsWith("allow") || outcome === "switch_bypass" ? "yes" : "no";
  }

  async #permission(toolCallId: string): Promise<string> {
    try {
      const reply = await orAborted(
        this.#hands.ask("session/request_permission", { toolCall: { toolCallId }, options: permissionOptions }),
        this.#signal,
      );
      const { outcome } = reply as { readonly outcome?: { readonly outcome?: unknown; readonly optionId?: unknown } };
      return outcome?.outcome === "selected" ? String(outcome.optionId) : "cancelled";
    } catch (error) {
      if (this.#signal.aborted) throw error;
      return `error ${error instanceof RpcError ? error.code : internalError}`;
    }
  }

  /** A question of the agent's own to its user: nobody answers it here. */
  async #waitForAnswer(): Promise<void> {
    this.#newCall("Ask the user", "other", { question: "Which of these do you want?" });
    await this.#waitForever();
  }

  async #askForDiagnostics(): Promise<void> {
    const asked = this.#hands.ask("_cognition.ai/request_diagnostics", {});
    const answered = await orAborted(asked, this.#signal).then(
      () => true,
      () => false,
    );
    this.#signal.throwIfAborted();
    await this.#hands.diagnosticsAnswered(answered);
  }

  #newCall(title: string, kind: string, rawInput: object): string {
    const toolCallId = `call_${this.#hands.newId().replaceAll("-", "").slice(0, 16)}`;
    this.#toolCalls++;
    this.#keepCall(toolCallId, { sessionUpdate: "tool_call", toolCallId, title, kind, status: "pending", rawInput });
    return toolCallId;
  }

  #callUpdate(toolCallId: string, fields: object): void {
    this.#keepCall(toolCallId, { sessionUpdate: "tool_call_update", toolCallId, ...fields });
  }

  #keepCall(message: string, update: object): void {
    this.#hands.keep({ message, role: "tool", kind: "json", body: JSON.stringify(update) });
    this.#hands.update(update);
  }

  async #step(): Promise<void> {
    const { charsPerSecond, chunk } = paceOf(this.#task.plan);
    if (charsPerSecond !== Infinity) await this.#sleep((chunk / charsPerSecond) * 1000);
  }

  async #sleep(ms: number): Promise<void> {
    this.#signal.throwIfAborted();
    if (ms > 0) await this.#hands.clock.sleep(ms, this.#signal);
  }

  async #waitForever(): Promise<void> {
    for (;;) await this.#sleep(60_000);
  }

  #countedInput(): number {
    const { text, instructions, history } = this.#task.model;
    return [text, instructions, ...history.map((message) => message.text)].reduce(
      (sum, one) => sum + countTokens(one),
      0,
    );
  }
}

/** The five choices of a permission request. Source: docs/wire/acp.md, "Permissions". */
const permissionOptions = [
  { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
  { optionId: "allow_session", name: "Allow for this session", kind: "allow_always" },
  { optionId: "allow_always", name: "Always allow", kind: "allow_always" },
  { optionId: "switch_bypass", name: "Switch to bypass mode", kind: "allow_always" },
  { optionId: "reject_once", name: "Reject", kind: "reject_once" },
];

function textContent(text: string) {
  return { type: "content", content: { type: "text", text } };
}
