import type { Clock } from "../../src/base/clock.ts";
import type { QuotaError } from "../account/plan.ts";
import { errorTexts } from "../faults/error-texts.ts";
import type { TurnPlan } from "../faults/turn-plan.ts";
import type { Gate } from "../trajectory/gate.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { DeskLink } from "./desk/desk-link.ts";
import type { AgentSettings } from "./desk/desk-protocol.ts";
import { causeOf, codes, turnError, vendorError } from "./errors.ts";
import { internalError, type JsonRpc, JsonRpcError } from "./json-rpc.ts";
import { agentModels } from "./models.ts";
import { runPromptTurn, type TurnEnd, TurnStop } from "./prompt-turn.ts";
import type { Session } from "./session.ts";
import type { SessionStore } from "./session-store.ts";
import type { IncomingPrompt } from "./split-prompt.ts";
import { standInModel, summarised, turnTask } from "./turn-task.ts";

/** One call of `session/prompt`, once its session is known to be free. */
interface PromptCall {
  readonly session: Session;
  readonly incoming: IncomingPrompt;
  readonly turn: TurnPlan;
  readonly exhausted: QuotaError | undefined;
  readonly options: AgentOptions;
  readonly store: SessionStore;
  readonly services: {
    readonly settings: AgentSettings;
    readonly desk: DeskLink;
    readonly rpc: JsonRpc;
    readonly clock: Clock;
    readonly gate: Gate;
    readonly pid: number;
    readonly newId: () => string;
    readonly agentType: string;
    readonly update: (update: object) => void;
    readonly crash: () => Promise<never>;
  };
  readonly signal: AbortSignal;
}

interface StopState {
  readonly cause: string;
  readonly stats: object;
}

/** How the call ends. `crash`: the process is to die around its reply. */
type PromptEnd =
  | { readonly stopped: StopState; readonly result: object; readonly crash: TurnPlan["crashAt"] }
  | { readonly stopped: StopState; readonly error: JsonRpcError };

/** Stores a prompt, counts it, runs its turn, and returns how it ended. A prompt that is refused before it is stored costs nothing. */
export async function runPrompt(call: PromptCall): Promise<PromptEnd> {
  const { session, incoming, options, store, services, signal } = call;
  const { clock, desk, newId, crash } = services;
  const model = agentModels(options.free).find(({ id }) => id === session.model);
  const history = store.has(session.sessionId) ? store.messages(session.sessionId) : [];
  const task = turnTask(
    incoming,
    call.turn,
    history,
    model ?? { id: session.model, name: session.model, thinks: false },
  );
  const { plan } = task;
  const startedAtMs = clock.monotonic();
  const stats = (end?: TurnEnd) => ({
    requestId: newId(),
    inputTokens: end?.inputTokens ?? 0,
    outputTokens: end?.outputTokens ?? 0,
    ttftMs: Math.round(clock.monotonic() - startedAtMs),
    toolCalls: end?.toolCalls ?? 0,
    modelLabel: model?.name ?? session.model,
  });

  if (plan.crashAt === "before-store") await crash();
  const refused = plan.errorAt === "send" ? plan.error : (model?.credits ?? 0) > 0 ? call.exhausted : undefined;
  if (refused !== undefined) {
    await desk.note({ list: "refusedPrompts", entry: incoming.whole });
    return {
      stopped: { cause: causeOf(refused), stats: stats() },
      error: turnError(refused, errorTexts(refused).text),
    };
  }
  const { sessionId, cwd } = session;
  const title = task.model.asked.replaceAll(/\s+/g, " ").slice(0, 60);
  if (!store.begin({ sessionId, cwd, title, updatedAtMs: clock.now() })) {
    const error = vendorError(
      codes.locked,
      `Session is locked by another process: ${sessionId}`,
      "session_locked",
      true,
    );
    return { stopped: { cause: "error", stats: stats() }, error };
  }
  const keep = (node: Parameters<SessionStore["append"]>[1]) => store.append(sessionId, node, clock.now());
  keep({ message: newId(), role: "user", kind: "text", body: incoming.whole });
  const { pid, agentType } = services;
  await desk.note({
    list: "prompts",
    entry: {
      pid,
      sessionId,
      text: incoming.whole,
      images: incoming.images,
      model: session.model,
      ...(call.options.efforts ? { effort: session.effort } : {}),
      mode: session.mode,
      agentType,
    },
    credits: model?.credits ?? 0,
  });
  if (plan.crashAt === "after-store") await crash();
  if (history.length === 0) services.update({ sessionUpdate: "session_info_update", title });

  try {
    const isSummary = agentType === "summarizer" && options.summarizer !== "answers";
    const end = await runPromptTurn(
      isSummary ? summarised(task, options.summarizer === "always" ? "always" : "unframed") : task,
      {
        none: agentType === "summarizer",
        mode: session.mode,
        askAgain: options.askAgain,
        acts: options.acts,
        cwd,
        mcp: session.mcp,
        mcpRules: options,
      },
      {
        clock,
        gate: services.gate,
        newId,
        newModel: () => standInModel(services.settings),
        update: services.update,
        notify: (method, params) => services.rpc.notify(method, { sessionId, ...params }),
        keep,
        ask: (method, params) => services.rpc.request(method, { sessionId, ...params }),
        permissionAnswered: (outcome) => desk.note({ list: "permissions", entry: { sessionId, outcome } }),
        diagnosticsAnswered: (answered) => desk.note({ list: "diagnostics", entry: answered }),
        crash,
      },
      signal,
    );
    const usage = {
      inputTokens: end.inputTokens,
      outputTokens: end.outputTokens,
      cachedReadTokens: 0,
      totalTokens: end.inputTokens + end.outputTokens,
    };
    if (options.usage === "both" || options.usage === "update") {
      services.update({
        sessionUpdate: "usage_update",
        used: usage.totalTokens,
        size: model?.context ?? 200_000,
        _meta: usage,
      });
    }
    const counted = { cache_read_tokens: 0, cache_creation_tokens: 0 };
    const spent = { input_tokens: end.inputTokens, output_tokens: end.outputTokens, ...counted };
    store.answered(sessionId, { message: newId(), model: session.model, usage: spent }, clock.now());
    const told = options.usage === "both" || options.usage === "result" ? { usage } : {};
    const cause = end.stopReason === "max_tokens" ? "output_truncated" : causes[end.stopReason];
    return {
      stopped: { cause: cause ?? "complete", stats: stats(end) },
      result: { stopReason: end.stopReason, ...told },
      crash: plan.crashAt,
    };
  } catch (error) {
    if (signal.aborted) {
      return { stopped: { cause: "cancelled", stats: stats() }, result: { stopReason: "cancelled" }, crash: undefined };
    }
    if (error instanceof TurnStop) return { stopped: { cause: error.cause, stats: stats() }, error: error.reply };
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { stopped: { cause: "error", stats: stats() }, error: new JsonRpcError(internalError, text) };
  } finally {
    store.end(sessionId, clock.now());
  }
}

const causes: Readonly<Record<string, string>> = {
  max_turn_requests: "max_turn_requests",
  refusal: "content_filter",
};
