import type { CascadeId, ModelUid } from "../base/ids.ts";
import type { TurnEventBody } from "../log/event.ts";

/** The first event of a turn over Cascade. */
export const started: TurnEventBody = {
  type: "started",
  modelUid: "uid-test-model" as ModelUid,
  backend: "cascade",
  cascadeId: "c-1" as CascadeId,
};

export const text = (delta: string): TurnEventBody => ({ type: "text", delta });

export const finished = (
  whole: string,
  unified: "stop" | "length" | "content_filter" = "stop",
  raw?: string,
): TurnEventBody => ({ type: "finished", reason: { unified, raw }, text: whole });
