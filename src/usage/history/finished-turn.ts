import { type IdeVariant, promptedVariants } from "../../language-server/transport/endpoint.ts";
import { endReasonOf, isCutShort, isTerminal } from "../../log/event.ts";
import type { TurnLabel } from "../../log/store.ts";

/** Where token counts come from. An estimate is never shown as a measurement. */
export type TokenSource = "measured" | "estimated" | "unknown";

/** What lists show of a turn: counts and names, never a text. What is undefined is not known, or not yet. */
export interface ListedTurn {
  readonly turnId: string;
  /** Epoch ms. */
  readonly startedAtMs: number;
  /** Epoch ms of the terminal event. */
  readonly endedAtMs: number | undefined;
  /** The model UID that answered. */
  readonly model: string;
  /** Which API it came through. */
  readonly dialect: string;
  /** The client's product name and version. */
  readonly client: string | undefined;
  readonly project: string | undefined;
  /** Whose plan paid: the product that the prompt went to. Undefined for a turn that reached none, and in old logs. */
  readonly ide: string | undefined;
  readonly tokenSource: TokenSource;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly thinkingTokens: number;
  readonly cachedPromptTokens: number;
  /** As the IDE reported it. */
  readonly creditsHundredths: number | undefined;
  /** From the request to the first text, thinking or tool call; undefined if there was none. */
  readonly firstTokenMs: number | undefined;
  readonly outcome: "finished" | "failed" | "cancelled" | undefined;
  /** Why it ended so: the finish reason, the error's code, or who cancelled. */
  readonly reason: string | undefined;
}

/** One turn that ended, as the usage history keeps it. Its client is a product name without a version. */
export interface FinishedTurn extends ListedTurn {
  readonly endedAtMs: number;
  readonly ide: IdeVariant | undefined;
  readonly outcome: "finished" | "failed" | "cancelled";
  readonly reason: string;
  /** The model's name at that time; absent if it was not noted. */
  readonly modelName?: string;
  /** The name of the key that asked; absent if it was not noted. */
  readonly key?: string;
  /** By the price list of that time, where the IDE reported none; absent where the list did not say, or the turn failed. */
  readonly estimatedHundredths?: number;
}

type Label = Pick<TurnLabel, "turnId" | "createdAtMs" | "dialect" | "modelUid" | "client" | "project" | "outline">;

/** Reads a turn's label and its answer in short: the one writer of what lists show. */
export function listedTurn({ outline = [], ...label }: Label): ListedTurn {
  const started = outline.find((event) => event.type === "started");
  const first = outline.find((event) => "characters" in event);
  const usage = outline.find((event) => event.type === "usage");
  const last = outline.findLast(isTerminal);
  return {
    turnId: label.turnId,
    startedAtMs: label.createdAtMs,
    endedAtMs: last?.atMs,
    model: started?.modelUid ?? label.modelUid,
    dialect: label.dialect,
    client: label.client,
    project: label.project,
    ide: started?.ide,
    tokenSource: usage === undefined ? "unknown" : usage.estimated ? "estimated" : "measured",
    promptTokens: usage?.promptTokens ?? 0,
    completionTokens: usage?.completionTokens ?? 0,
    thinkingTokens: usage?.thinkingTokens ?? 0,
    cachedPromptTokens: usage?.cachedPromptTokens ?? 0,
    // A prompt is sent only after `started` is stored: without it the turn cost nothing, and that is known.
    creditsHundredths: started === undefined && !isCutShort(outline) ? 0 : usage?.creditsHundredths,
    firstTokenMs: first === undefined ? undefined : Math.max(0, first.atMs - label.createdAtMs),
    outcome: last?.type,
    reason: last && endReasonOf(last),
  };
}

/** The history's row of a turn, from its label; undefined while the turn has not ended. */
export function finishedTurn(label: Label): FinishedTurn | undefined {
  const { endedAtMs, outcome, reason, ...turn } = listedTurn(label);
  if (endedAtMs === undefined || outcome === undefined || reason === undefined) return undefined;
  const ide = promptedVariants.find((variant) => variant === turn.ide);
  return { ...turn, client: productOf(turn.client), ide, endedAtMs, outcome, reason };
}

/** `claude-cli` of `claude-cli/2.1.0 (external, cli)`. */
function productOf(client: string | undefined): string | undefined {
  return client?.split(/[/\s(]/, 1)[0] || undefined;
}
