import type { ErrorRecord } from "../base/errors.ts";
import type { CascadeId, EventId, ModelUid } from "../base/ids.ts";

/** Which way a prompt went: Cascade (2.x), raw chat (1.x), or an agent that speaks ACP. */
export type BackendKind = "cascade" | "raw_chat" | "acp";

/** Why an answer ended, and the upstream's own name for the reason. */
export interface FinishReason {
  readonly unified: "stop" | "length" | "tool_calls" | "content_filter";
  readonly raw: string | undefined;
}

/** Token counts of one turn. `estimated` when counted here rather than reported by the server. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly thinkingTokens: number;
  /** Part of `promptTokens` that came from the model's cache. */
  readonly cachedPromptTokens?: number;
  readonly creditsHundredths?: number;
  readonly estimated: boolean;
}

/**
 * The events of a turn: the only vocabulary between backends and dialects. A log starts with `started` (unless the turn ended before
 * that) and ends with exactly one of `finished`, `failed`, `cancelled`. Source: docs/turn-machine.md, "Transitions".
 */
export type TurnEventBody =
  /** The conversation exists upstream; logged before the prompt is sent, so that a restart can find it. */
  | {
      readonly type: "started";
      readonly modelUid: ModelUid;
      readonly backend: BackendKind;
      readonly cascadeId: CascadeId | undefined;
      /** How many steps a continued trajectory held before this turn; absent on a fresh one. */
      readonly fromStep?: number;
      /** Which product the prompt goes to (`windsurf`, `windsurf-next`): its plan pays. Absent in logs of older builds. */
      readonly ide?: string;
      /** The client's tools are the agent's own: calls come as `tool_call` events and never as text. */
      readonly tools?: "native";
      /** No prompt is sent: the turn gives the results to a prompt that an earlier turn began and that waits for them. */
      readonly goesOn?: true;
      /** The upstream keeps nothing of the answer once this process ends, so no later one can continue the turn. */
      readonly endsWithGateway?: true;
    }
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "thinking"; readonly delta: string }
  /** Arguments grow by `argumentsDelta`; `done` is set once, on the last delta of the call (which may be empty). */
  | {
      readonly type: "tool_call";
      readonly callId: string;
      readonly name: string;
      readonly argumentsDelta: string;
      readonly done: boolean;
    }
  /**
   * The upstream rewrote text already sent: the full text as it now stands. `moved`: the deltas had all of it, in another order, so a
   * reader that cannot take text back lacks nothing.
   */
  | { readonly type: "rewritten"; readonly text: string; readonly moved?: true }
  | ({ readonly type: "usage" } & Usage)
  | {
      readonly type: "finished";
      readonly reason: FinishReason;
      readonly text: string;
      readonly ideTools?: IdeToolNames;
    }
  | { readonly type: "failed"; readonly error: ErrorRecord; readonly ideTools?: IdeToolNames }
  | { readonly type: "cancelled"; readonly by: CancelledBy };

/** The tools with which the IDE's agent looked something up in a turn: `VIEW_FILE`, each once. Absent where it used none. */
export type IdeToolNames = readonly string[];

/** The cause of an early end: the client's cancel, a grace time without a reader, the stop of the gateway, or the IDE. */
export type CancelledBy = "client" | "abandoned" | "superseded" | "shutdown" | "ide";

/** An event as the log holds it. `atMs` is epoch ms. */
export type TurnEvent = TurnEventBody & { readonly eventId: EventId; readonly atMs: number };

export type TerminalEventType = "finished" | "failed" | "cancelled";

/** Whether nothing can follow this event. */
export function isTerminal<E extends TurnEventBody>(event: E): event is E & { readonly type: TerminalEventType } {
  return event.type === "finished" || event.type === "failed" || event.type === "cancelled";
}
