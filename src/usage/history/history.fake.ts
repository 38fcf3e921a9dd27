import type { ModelUid, TurnId } from "../../base/ids.ts";
import { eventIdOf, type OutlinedEvent, outlineEvent, type TurnEventBody } from "../../log/event.ts";
import type { FinishedTurn } from "./finished-turn.ts";

/** A finished turn of the history, a second long; `part` overrides. */
export function turnFake(
  part: Partial<FinishedTurn> & { readonly turnId: string; readonly endedAtMs: number },
): FinishedTurn {
  return {
    startedAtMs: part.endedAtMs - 1000,
    model: "claude-opus-4-5",
    dialect: "openai-chat",
    client: "opencode",
    project: "/home/ada/engine",
    ide: "windsurf",
    tokenSource: "measured",
    promptTokens: 100,
    completionTokens: 20,
    thinkingTokens: 5,
    cachedPromptTokens: 0,
    creditsHundredths: 100,
    firstTokenMs: 300,
    outcome: "finished",
    reason: "stop",
    ...part,
  };
}

/** The log's record beside a turn's events; `part` overrides. */
export function recordFake(part: {
  readonly turnId?: string;
  readonly createdAtMs?: number;
  readonly client?: string | undefined;
  readonly project?: string;
}) {
  return {
    turnId: (part.turnId ?? "turn_1") as TurnId, // a made-up id
    createdAtMs: part.createdAtMs ?? 1000,
    dialect: "openai-chat",
    modelUid: "opus-asked",
    client: "client" in part ? part.client : "opencode/1.2.3 (linux)",
    ...(part.project === undefined ? {} : { project: part.project }),
  };
}

/** Outlines of events as a log would hold them, 100 ms apart from `fromMs` on. */
export function eventsFake(fromMs: number, ...bodies: readonly TurnEventBody[]): readonly OutlinedEvent[] {
  return bodies.map((body, index) => {
    return outlineEvent({ ...body, eventId: eventIdOf(index + 1), atMs: fromMs + index * 100 });
  });
}

export const startedFake = {
  type: "started",
  modelUid: "claude-opus-4-5" as ModelUid, // a known one
  backend: "cascade",
  cascadeId: undefined,
  ide: "windsurf",
} as const satisfies TurnEventBody;
