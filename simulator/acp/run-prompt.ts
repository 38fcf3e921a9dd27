import type { Clock } from "../../src/base/clock.ts";
import type { TurnPlan } from "../faults/turn-plan.ts";
import { answerPace, countedUsage, forever, playAnswer, playTools, type Stage, TurnFailure } from "../model/engine.ts";
import type { GrowthMark } from "../model/growth.ts";
import type { ModelPrompt } from "../model/model.ts";
import { failedTurn, locked } from "./errors.ts";
import { internalError, JsonRpcError } from "./json-rpc.ts";
import { callsIn, taughtTools, writtenResults } from "./mcp-client.ts";
import { agentModels } from "./models.ts";
import { modelPrompt, type PromptCall, summarised } from "./prompt.ts";
import type { StoredNode } from "./session-store.ts";
import { ToolCalls } from "./tool-calls.ts";

/** How the call ends: the cause in `agent_stopped` with its figures, and the reply. `crash`: the process is to die around its reply. */
interface PromptEnd {
  readonly stopped: { readonly cause: string; readonly stats: object };
  readonly reply: object | JsonRpcError;
  readonly crash?: TurnPlan["crashAt"];
}

type Usage = ReturnType<typeof countedUsage>;

/** Stores a prompt, counts it, runs its turn, and returns how it ended. A prompt that is refused before it is stored costs nothing. */
export async function runPrompt(given: Omit<PromptCall, "keep">): Promise<PromptEnd> {
  const { session, incoming, store, services, signal } = given;
  const { clock, desk, newId, crash, pid, agentType, update } = services;
  const { options, exhausted } = given.terms;
  const { sessionId, cwd, mode } = session;
  const known = agentModels(options.free).find(({ id }) => id === session.model);
  const model = known ?? { id: session.model, name: session.model, thinks: false, credits: 0, context: 200_000 };
  const history = store.has(sessionId) ? store.messages(sessionId) : [];
  const { prompt, problem } = modelPrompt(incoming, given.terms.turn, history, model);
  const { plan } = prompt;
  const startedAtMs = clock.monotonic();
  const stopped = (cause: string, usage: Usage = { inputTokens: 0, outputTokens: 0 }, toolCalls = 0) => ({
    cause,
    stats: {
      requestId: newId(),
      ...usage,
      ttftMs: Math.round(clock.monotonic() - startedAtMs),
      toolCalls,
      modelLabel: model.name,
    },
  });

  if (plan.crashAt === "before-store") await crash();
  const refused = plan.errorAt === "send" ? plan.error : model.credits > 0 ? exhausted : undefined;
  if (refused !== undefined) {
    await desk.note("refusedPrompts", incoming.whole);
    const { cause, error } = failedTurn(refused);
    return { stopped: stopped(cause), reply: error };
  }
  const title = prompt.asked.replaceAll(/\s+/g, " ").slice(0, 60);
  if (!store.begin({ sessionId, cwd, title, updatedAtMs: clock.now() })) {
    return { stopped: stopped("error"), reply: locked(sessionId) };
  }
  const keep = (node: StoredNode) => store.append(sessionId, node, clock.now());
  keep({ message: newId(), role: "user", kind: "text", body: incoming.whole });
  const accepted = {
    pid,
    sessionId,
    text: incoming.whole,
    images: incoming.images,
    model: session.model,
    mode,
    agentType,
  };
  const effort = options.efforts ? { effort: session.effort } : {};
  await desk.note("prompts", { ...accepted, ...effort }, model.credits);
  if (plan.crashAt === "after-store") await crash();
  if (history.length === 0) update({ sessionUpdate: "session_info_update", title });

  try {
    if (problem !== undefined) {
      throw new TurnFailure({ text: `simulator: a directive in the prompt is wrong: ${problem}` });
    }
    const asked = agentType === "summarizer" ? summarised(prompt, options.summarizer) : prompt;
    const turn = new AgentTurn({ ...given, keep, terms: { ...given.terms, turn: asked.plan } }, asked);
    const spent = await turn.run();
    const { inputTokens, outputTokens } = spent;
    const totalTokens = inputTokens + outputTokens;
    const usage = { inputTokens, outputTokens, cachedReadTokens: 0, totalTokens };
    if (options.usage === "both" || options.usage === "update") {
      update({ sessionUpdate: "usage_update", used: totalTokens, size: model.context, _meta: usage });
    }
    const counted = { input_tokens: inputTokens, output_tokens: outputTokens };
    const cached = { cache_read_tokens: 0, cache_creation_tokens: 0 };
    store.answered(
      sessionId,
      { message: newId(), model: session.model, usage: { ...counted, ...cached } },
      clock.now(),
    );
    const stopReason = plan.stopReason ?? "end_turn";
    return {
      stopped: stopped(causes[stopReason] ?? "complete", spent, turn.toolCalls),
      reply: { stopReason, ...(options.usage === "both" || options.usage === "result" ? { usage } : {}) },
      crash: plan.crashAt,
    };
  } catch (error) {
    if (signal.aborted) return { stopped: stopped("cancelled"), reply: { stopReason: "cancelled" } };
    if (!(error instanceof TurnFailure)) {
      return { stopped: stopped("error"), reply: new JsonRpcError(internalError, String(error)) };
    }
    const failed = failedTurn(error.reason);
    return { stopped: stopped(failed.cause), reply: failed.error };
  } finally {
    store.end(sessionId, clock.now());
  }
}

const causes: Readonly<Record<string, string>> = {
  max_tokens: "output_truncated",
  max_turn_requests: "max_turn_requests",
  refusal: "content_filter",
};

/** Runs a prompt that is stored, to its end. Aborting the signal is `session/cancel`. */
class AgentTurn implements Stage {
  readonly #call: PromptCall;
  readonly #prompt: ModelPrompt;
  readonly #tools: ToolCalls;
  readonly clock: Clock;
  readonly released: Promise<void>;
  #message = "";
  #said = "";
  #thought = "";
  /** The last answer of the model, with its calls. */
  #answered = "";

  constructor(call: PromptCall, prompt: ModelPrompt) {
    this.#call = call;
    this.#prompt = prompt;
    this.#tools = new ToolCalls(call);
    this.clock = call.services.clock;
    this.released = call.services.gate.opens;
  }

  get toolCalls(): number {
    return this.#tools.count;
  }

  /** A type without tools tries neither reads nor writes. */
  get #hasTools(): boolean {
    return this.#call.services.agentType !== "summarizer";
  }

  async run(): Promise<Usage> {
    const { plan } = this.#prompt;
    const { signal } = this.#call;
    const { inputMs, firstMs } = answerPace(plan);
    if (plan.hang === true) await forever(this.clock, signal);
    signal.throwIfAborted();
    if (inputMs + firstMs > 0) await this.clock.sleep(inputMs + firstMs, signal);
    if (plan.diagnostics === true) await this.#tools.askForDiagnostics();
    if (plan.notices === true) {
      this.#notify("_cognition.ai/connection_retry", { attempt: 1, maxAttempts: 5, isStreamRetry: false });
      this.#notify("_cognition.ai/billingInformation", { title: "Weekly quota", body: "90 % of it is used." });
    }
    const answers = await playTools(this.#prompt, this, signal);
    if (this.#hasTools) for (let i = 0; i < (plan.writes ?? 0); i++) await this.#tools.write(i);
    if (plan.compaction === true) this.#notice("Compacting the conversation…");
    if (answers) await this.#rounds();
    return countedUsage(this.#prompt, [this.#said, this.#thought]);
  }

  /** One answer of the model after the other, as long as it calls tools of the session's servers. */
  async #rounds(): Promise<void> {
    const offered = () => this.#call.session.mcp.flatMap(({ tools }) => tools); // they may change between two answers
    if (offered().length === 0) return await this.#answer(this.#prompt);
    if (this.#call.terms.options.ownToolsFirst) {
      await this.#tools.read();
      return await this.#answer({ ...this.#prompt, plan: { ...this.#prompt.plan, text: "The folder is empty." } });
    }
    for (let prompt = this.#prompt; ; ) {
      const { instructions } = this.#prompt;
      const taught = `${instructions}\n\n${taughtTools(offered(), instructions)}`;
      this.#answered = "";
      await this.#answer({ ...prompt, instructions: taught });
      const { calls } = callsIn(this.#answered);
      if (calls.length === 0) return;
      const results = writtenResults(await this.#tools.callServers(calls));
      const turn = [
        { role: "user" as const, text: prompt.text },
        { role: "assistant" as const, text: this.#answered },
      ];
      prompt = { ...prompt, history: [...prompt.history, ...turn], text: results, asked: results };
    }
  }

  async #answer(prompt: ModelPrompt): Promise<void> {
    this.#message = this.#call.services.newId();
    await playAnswer(prompt, this, this.#call.signal);
  }

  marks({ crashAt, size = 2 }: TurnPlan): readonly GrowthMark[] {
    if (crashAt !== "mid-answer") return [];
    return [{ at: Math.max(1, Math.floor(size / 2)), act: () => this.restart() }];
  }

  async tool(): Promise<void> {
    if (this.#hasTools) await this.#tools.read();
  }

  ask(): void {
    this.#tools.askUser();
  }

  shown(text: string): string {
    this.#answered += text;
    return this.#call.session.mcp.length === 0 ? text : callsIn(text).text;
  }

  say(text: string): void {
    this.#said += text;
    this.#show("assistant", "agent_message_chunk", text);
  }

  think(text: string): void {
    this.#thought += text;
    this.#show("thought", "agent_thought_chunk", text);
  }

  compact(): void {
    this.#notice("Conversation compacted.");
  }

  restart(): Promise<never> {
    return this.#call.services.crash();
  }

  #show(role: StoredNode["role"], sessionUpdate: string, text: string): void {
    this.#call.keep({ message: this.#message, role, kind: "text", body: text });
    this.#call.services.update({ sessionUpdate, content: { type: "text", text } });
  }

  /** A message of the program itself, which is no part of the answer. */
  #notice(text: string): void {
    const content = { type: "text", text };
    const _meta = { "cognition.ai/displayMessage": true };
    this.#call.services.update({ sessionUpdate: "agent_message_chunk", content, _meta });
  }

  #notify(method: string, params: object): void {
    this.#call.services.rpc.notify(method, { sessionId: this.#call.session.sessionId, ...params });
  }
}
