import { orAborted } from "../../src/base/async.ts";
import type { Clock } from "../../src/base/clock.ts";
import { type ErrorName, errorTexts } from "../faults/error-texts.ts";
import { countTokens, type Model, type ModelPrompt } from "../model/model.ts";
import { Growth, type GrowthMark } from "../trajectory/growth.ts";
import { answerPace } from "../trajectory/pace.ts";
import { causeOf, codes, turnError, vendorError } from "./errors.ts";
import type { JsonRpcError } from "./json-rpc.ts";
import { callsIn, taughtTools, writtenResults } from "./mcp-client.ts";
import { ToolCalls, type ToolRules } from "./tool-calls.ts";
import type { TurnHands } from "./turn-hands.ts";
import type { TurnTask } from "./turn-task.ts";

export interface TurnEnd {
  readonly stopReason: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly toolCalls: number;
}

/** Fails a turn, with the cause for `agent_stopped`. */
export class TurnStop extends Error {
  override readonly cause: string;
  readonly reply: JsonRpcError;
  constructor(cause: string, reply: JsonRpcError) {
    super(reply.message);
    this.cause = cause;
    this.reply = reply;
  }
}

/**
 * Runs a prompt that is stored, to its end. Aborting the signal is `session/cancel`.
 *
 * @throws TurnStop with the reply's error; the signal's reason when it was cancelled.
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
  readonly #tools: ToolCalls;
  readonly #rules: ToolRules;
  readonly #toolless: boolean;
  readonly #hands: TurnHands;
  readonly #signal: AbortSignal;
  readonly #released: Promise<void>;
  #said = "";
  /** The last answer of the model, with its calls. */
  #answered = "";
  #thought = "";

  constructor(task: TurnTask, tools: ToolRules, hands: TurnHands, signal: AbortSignal) {
    this.#task = task;
    this.#rules = tools;
    this.#toolless = tools.none;
    this.#tools = new ToolCalls(tools, hands, () => this.#step(), signal);
    this.#hands = hands;
    this.#signal = signal;
    this.#released = hands.gate.opens;
  }

  async run(): Promise<TurnEnd> {
    const { plan, problem } = this.#task;
    const { clock } = this.#hands;
    const pace = answerPace(plan);
    if (problem !== undefined) this.#stop("internal", `simulator: a directive in the prompt is wrong: ${problem}`);
    if (plan.hang === true) await this.#waitForever();
    await this.#sleep(pace.inputMs + pace.firstMs);
    if (plan.diagnostics === true) await this.#tools.askForDiagnostics();
    if (plan.notices === true) {
      const retry = { attempt: 1, maxAttempts: 5, isStreamRetry: false };
      this.#hands.notify("_cognition.ai/connection_retry", retry);
      const body = "90 % of it is used.";
      this.#hands.notify("_cognition.ai/billingInformation", { title: "Weekly quota", body });
    }
    if (plan.waiting === true) await this.#waitForAnswer();
    const reads = plan.tools ?? (plan.toolOnly === true ? 1 : 0);
    if (!this.#toolless) {
      for (let i = 0; i < reads; i++) await this.#tools.read();
      for (let i = 0; i < (plan.writes ?? 0); i++) await this.#tools.write(i);
    }
    if (plan.compaction === true) this.#notice("Compacting the conversation…");
    let usage = { inputTokens: 0, outputTokens: 0 };
    if (plan.toolOnly !== true) usage = (await this.#rounds(clock)) ?? usage;
    return {
      stopReason: plan.stopReason ?? "end_turn",
      inputTokens: usage.inputTokens || this.#countedInput(),
      outputTokens: usage.outputTokens || countTokens(this.#said) + countTokens(this.#thought),
      toolCalls: this.#tools.count,
    };
  }

  /** One answer of the model after the other, as long as it calls tools of the session's servers. */
  async #rounds(clock: Clock) {
    const { model } = this.#task;
    const { mcp, mcpRules } = this.#rules;
    const offered = () => mcp.flatMap(({ tools }) => tools); // they may change between two answers
    if (offered().length === 0) return await this.#answer(clock, model);
    if (mcpRules.ownToolsFirst) {
      await this.#tools.read();
      return await this.#answer(clock, { ...model, plan: { ...model.plan, text: "The folder is empty." } });
    }
    let prompt: ModelPrompt = model;
    for (;;) {
      this.#answered = "";
      const instructions = `${model.instructions}\n\n${taughtTools(offered(), model.instructions)}`;
      const usage = await this.#answer(clock, { ...prompt, instructions });
      const { calls } = callsIn(this.#answered);
      if (calls.length === 0) return usage;
      const results = writtenResults(await this.#tools.callServers(calls));
      const history = [
        ...prompt.history,
        { role: "user" as const, text: prompt.text },
        { role: "assistant" as const, text: this.#answered },
      ];
      prompt = { ...prompt, history, text: results, asked: results };
    }
  }

  async #answer(clock: Clock, prompt: ModelPrompt) {
    const { plan } = this.#task;
    const model = this.#hands.newModel();
    const pace = { ...answerPace(plan), ...(model.live ? { charsPerSecond: Infinity } : {}) };
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
      } else if (this.#rules.mcp.length > 0) {
        this.#answered += delta.text;
        const { text } = callsIn(delta.text);
        if (text !== "") await growth.grow(text, (piece) => this.#say(id, piece), this.#signal);
      } else {
        await growth.grow(delta.text, (piece) => this.#say(id, piece), this.#signal);
        if (plan.crashAt === "mid-answer") await this.#hands.crash(); // one that came as a single piece
      }
    }
    await growth.finish();
    return usage;
  }

  /** The model's text; the model's failure is the turn's. */
  async *#deltas(model: Model, prompt: ModelPrompt) {
    try {
      yield* model.answer(prompt, this.#signal);
    } catch (error) {
      if (this.#signal.aborted || error instanceof TurnStop) throw error;
      const text = error instanceof Error ? error.message : String(error);
      throw new TurnStop("error", vendorError(codes.internal, text, "internal", true));
    }
  }

  /** The events on the way, by the length of the answer. */
  #marks(): GrowthMark[] {
    const { plan } = this.#task;
    const marks: GrowthMark[] = [];
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
    throw new TurnStop(causeOf(name), turnError(name, text));
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

  /** A question of the agent to its user, which is not answered here. */
  async #waitForAnswer(): Promise<void> {
    this.#tools.askUser();
    await this.#waitForever();
  }

  async #step(): Promise<void> {
    const { charsPerSecond, chunk } = answerPace(this.#task.plan);
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
