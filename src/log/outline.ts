import type { ErrorCode } from "../base/errors.ts";
import type { ModelUid } from "../base/ids.ts";
import type { BackendKind, CancelledBy, FinishReason, IdeToolNames, TurnEvent, TurnEventBody, Usage } from "./event.ts";

/**
 * An event without its content: no text, no tool of the client, no argument, no error message. Observers and the usage history need
 * only this. It is all that the gateway itself keeps of a turn that its client sealed. Sizes are in characters.
 */
export type OutlinedBody =
  | {
      readonly type: "started";
      readonly modelUid: ModelUid;
      readonly backend: BackendKind;
      /** Which product the prompt went to; absent in logs of older builds. */
      readonly ide?: string;
    }
  | { readonly type: "text" | "thinking"; readonly characters: number }
  | { readonly type: "tool_call"; readonly characters: number; readonly done: boolean }
  /** The size is that of the whole text after the rewrite. */
  | { readonly type: "rewritten"; readonly characters: number }
  | ({ readonly type: "usage" } & Usage)
  | { readonly type: "finished"; readonly reason: FinishReason["unified"]; readonly ideTools?: IdeToolNames }
  | { readonly type: "failed"; readonly code: ErrorCode; readonly ideTools?: IdeToolNames }
  | { readonly type: "cancelled"; readonly by: CancelledBy }
  /** A sealed event of a build that kept no outline: that it is there is all that is known. */
  | { readonly type: "unknown" };

/** Where an outlined event stands in its log. `atMs` is epoch ms. */
export type OutlinedEvent = OutlinedBody & Pick<TurnEvent, "eventId" | "atMs">;

/** The outline of an event. Pure; the same whether or not a client sealed the turn. */
export function outlineOf(body: TurnEventBody): OutlinedBody {
  switch (body.type) {
    case "started": {
      const { type, modelUid, backend, ide } = body;
      return { type, modelUid, backend, ...(ide === undefined ? {} : { ide }) };
    }
    case "text":
    case "thinking":
      return { type: body.type, characters: body.delta.length };
    case "tool_call":
      return { type: body.type, characters: body.argumentsDelta.length, done: body.done };
    case "rewritten":
      return { type: body.type, characters: body.text.length };
    case "usage":
      return usageOf(body);
    case "finished":
      return { type: body.type, reason: body.reason.unified, ...ideToolsOf(body) };
    case "failed":
      return { type: body.type, code: body.error.code, ...ideToolsOf(body) };
    case "cancelled":
      return { type: body.type, by: body.by };
    default:
      return body satisfies never;
  }
}

export function outlineEvent(event: TurnEvent): OutlinedEvent {
  return { ...outlineOf(event), eventId: event.eventId, atMs: event.atMs };
}

/** Whether nothing can follow this event. */
export function endsTurn<E extends OutlinedBody>(
  event: E,
): event is E & { readonly type: "finished" | "failed" | "cancelled" } {
  return event.type === "finished" || event.type === "failed" || event.type === "cancelled";
}

function ideToolsOf({ ideTools }: { readonly ideTools?: IdeToolNames }): { readonly ideTools?: IdeToolNames } {
  return ideTools === undefined ? {} : { ideTools };
}

/** Copies known members only: a member that events gain later is not kept by accident. */
function usageOf(usage: Usage): OutlinedBody {
  const { promptTokens, completionTokens, thinkingTokens, cachedPromptTokens, creditsHundredths, estimated } = usage;
  return {
    type: "usage",
    promptTokens,
    completionTokens,
    thinkingTokens,
    ...(cachedPromptTokens === undefined ? {} : { cachedPromptTokens }),
    ...(creditsHundredths === undefined ? {} : { creditsHundredths }),
    estimated,
  };
}
