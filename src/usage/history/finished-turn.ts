import { type IdeVariant, promptedVariants } from "../../language-server/transport/endpoint.ts";
import { endReasonOf, endsTurn, isCutShort } from "../../log/event.ts";
import type { TurnLabel } from "../../log/store.ts";

/** Where token counts come from. An estimate is never shown as a measurement. */
export type TokenSource = "measured" | "estimated" | "unknown";

/** One turn that ended, as the usage history keeps it: counts and names, never a text. */
export interface FinishedTurn {
  readonly turnId: string;
  /** Epoch ms. */
  readonly startedAtMs: number;
  /** Epoch ms of the terminal event. */
  readonly endedAtMs: number;
  /** The model UID that answered. */
  readonly model: string;
  /** The model's name at that time; absent if it was not noted. */
  readonly modelName?: string;
  /** Which API it came through. */
  readonly dialect: string;
  /** The client's product name, without its version. */
  readonly client: string | undefined;
  readonly project: string | undefined;
  /** The name of the key that asked; absent if it was not noted. */
  readonly key?: string;
  /** Whose plan paid: the product that the prompt went to. Undefined for a turn that reached none, and in old logs. */
  readonly ide: IdeVariant | undefined;
  /** The conversation that answered; absent for a turn that reached none, and in rows of older builds. */
  readonly cascadeId?: string;
  readonly tokenSource: TokenSource;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly thinkingTokens: number;
  readonly cachedPromptTokens: number;
  /** As the IDE reported it. */
  readonly creditsHundredths: number | undefined;
  /** By the price list of that time, where the IDE reported none; absent where the list did not say, or the turn failed. */
  readonly estimatedHundredths?: number;
  /** From the request to the first text, thinking or tool call; undefined if there was none. */
  readonly firstTokenMs: number | undefined;
  readonly outcome: "finished" | "failed" | "cancelled";
  /** Why it ended so: the finish reason, the error's code, or who cancelled. */
  readonly reason: string;
}

/** The history's row of a turn, from its label; undefined while the turn has not ended. */
export function finishedTurn({
  outline = [],
  ...record
}: Pick<TurnLabel, "turnId" | "createdAtMs" | "dialect" | "modelUid" | "client" | "project" | "outline">):
  | FinishedTurn
  | undefined {
  const last = outline.findLast(endsTurn);
  if (last === undefined) return undefined;
  const started = outline.find((event) => event.type === "started");
  const first = outline.find((event) => "characters" in event);
  const usage = outline.find((event) => event.type === "usage");
  return {
    turnId: record.turnId,
    startedAtMs: record.createdAtMs,
    endedAtMs: last.atMs,
    model: started?.modelUid ?? record.modelUid,
    dialect: record.dialect,
    client: productOf(record.client),
    project: record.project,
    ide: promptedVariants.find((variant) => variant === started?.ide),
    ...(started?.cascadeId === undefined ? {} : { cascadeId: started.cascadeId }),
    tokenSource: usage === undefined ? "unknown" : usage.estimated ? "estimated" : "measured",
    promptTokens: usage?.promptTokens ?? 0,
    completionTokens: usage?.completionTokens ?? 0,
    thinkingTokens: usage?.thinkingTokens ?? 0,
    cachedPromptTokens: usage?.cachedPromptTokens ?? 0,
    // A prompt is sent only after `started` is stored: without it the turn cost nothing, and that is known.
    creditsHundredths: started === undefined && !isCutShort(outline) ? 0 : usage?.creditsHundredths,
    firstTokenMs: first === undefined ? undefined : Math.max(0, first.atMs - record.createdAtMs),
    outcome: last.type,
    reason: endReasonOf(last),
  };
}

/** `claude-cli` of `claude-cli/2.1.0 (external, cli)`. */
function productOf(client: string | undefined): string | undefined {
  return client?.split(/[/\s(]/, 1)[0] || undefined;
}
