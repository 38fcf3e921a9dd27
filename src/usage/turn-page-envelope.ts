import { z } from "zod";
import { ideName } from "../base/ide-name.ts";
import { iso, namedSpendSchema, withName } from "./envelope.ts";
import type { FinishedTurn, ListedTurn } from "./history/finished-turn.ts";
import type { TurnBar } from "./history/history.ts";
import {
  type TurnGroups,
  type TurnPageFilter,
  type TurnPageQuery,
  type TurnTotals,
  turnTotalsSchema,
} from "./history/turn-page-query.ts";

/** A page of ended turns, sums over all that match, and the names that models had, by UID. */
export interface TurnPage {
  readonly query: TurnPageQuery;
  readonly rows: readonly FinishedTurn[];
  /** These two where they were asked for. */
  readonly totals?: TurnTotals;
  readonly groups?: TurnGroups;
  readonly names: ReadonlyMap<string, string>;
}

const maybeNumber = z.number().nullable();
const maybeText = z.string().nullable();
const instant = z.iso.datetime();

/** The members that a turn has in every list. Unknown values are null. */
export const listedMembers = {
  id: z.string(),
  created_at: instant,
  ended_at: instant.nullable(),
  /** The model's name for people: the same on every view. */
  model_name: z.string(),
  client: maybeText,
  project: maybeText,
  /** The product that the prompt went to; null until it did. */
  ide: maybeText,
  first_token_ms: maybeNumber,
  reason: maybeText,
};

/** Writes them. `nameOf`: the name of a model by its UID. */
export function encodeListed(
  { turnId, startedAtMs, endedAtMs, model, client, project, ide, firstTokenMs, reason }: ListedTurn,
  nameOf: (uid: string) => string,
) {
  return {
    id: turnId,
    created_at: iso(startedAtMs),
    ended_at: endedAtMs === undefined ? null : iso(endedAtMs),
    model_name: nameOf(model),
    client: client ?? null,
    project: project ?? null,
    ide: ide === undefined ? null : ideName(ide),
    first_token_ms: firstTokenMs ?? null,
    reason: reason ?? null,
  };
}

const turnRowSchema = z.object({
  ...listedMembers,
  ended_at: instant,
  reason: z.string(),
  /** The UID; `model_name` is for people. */
  model: z.string(),
  api: z.string(),
  tokens: z.object({ in: z.number(), out: z.number(), estimated: z.boolean() }).nullable(),
  credits: maybeNumber,
  /** By the price list, where the IDE reported no credits. */
  credits_estimated: maybeNumber.default(null),
  duration_ms: z.number(),
  status: z.enum(["finished", "failed", "cancelled"]),
  /** The first line of the user's question; absent unless texts are shown, null where it is not known. */
  question: z.string().nullable().optional(),
});

/** The JSON of `GET /dashboard/api/usage/turns`. */
export const turnPageSchema = z.object({
  object: z.literal("list"),
  since: instant,
  until: instant,
  offset: z.number(),
  /** Null where they were not asked for. */
  totals: turnTotalsSchema.nullable(),
  /** What turns can be filtered by, with the totals: each model, client and key that ever had a turn. */
  groups: z
    .object({
      model: z.array(z.object({ key: z.string(), name: z.string() })),
      client: z.array(z.string()),
      key: z.array(z.string()),
    })
    .nullable(),
  data: z.array(turnRowSchema),
});

export type TurnPageEnvelope = z.infer<typeof turnPageSchema>;
export type TurnRowEnvelope = z.infer<typeof turnRowSchema>;

export function encodeTurnPage(page: TurnPage, nameOf: (uid: string) => string): TurnPageEnvelope {
  const { query, rows, totals, groups, names } = page;
  const name = (uid: string) => names.get(uid) ?? nameOf(uid);
  return {
    object: "list",
    since: iso(query.sinceMs),
    until: iso(query.untilMs),
    offset: query.offset,
    totals: totals ?? null,
    groups: groups === undefined ? null : encodeGroups(groups, name),
    data: rows.map((turn) => encodeRow(turn, name)),
  };
}

/** Ended turns in parts of a time. Parts without a turn are left out. */
export interface TurnBars {
  readonly filter: TurnPageFilter;
  readonly widthMs: number;
  readonly bars: readonly TurnBar[];
  readonly names: ReadonlyMap<string, string>;
}

/** The JSON of `GET /dashboard/api/usage/bars`. */
export const turnBarsSchema = z.object({
  object: z.literal("usage.bars"),
  since: instant,
  until: instant,
  width_seconds: z.number(),
  data: z.array(z.object({ from: instant, models: z.array(namedSpendSchema) })),
});

export type TurnBarsEnvelope = z.infer<typeof turnBarsSchema>;

export function encodeTurnBars(turns: TurnBars, nameOf: (uid: string) => string): TurnBarsEnvelope {
  const { filter, widthMs, bars, names } = turns;
  return {
    object: "usage.bars",
    since: iso(filter.sinceMs),
    until: iso(filter.untilMs),
    width_seconds: widthMs / 1000,
    data: bars.map(({ fromMs, models }) => ({
      from: iso(fromMs),
      models: models.map((spend) => withName(spend, (uid) => names.get(uid) ?? nameOf(uid))),
    })),
  };
}

function encodeGroups({ model, client, key }: TurnGroups, nameOf: (uid: string) => string) {
  return { model: model.map((uid) => ({ key: uid, name: nameOf(uid) })), client: [...client], key: [...key] };
}

function encodeRow(turn: FinishedTurn, nameOf: (uid: string) => string): TurnRowEnvelope {
  const { promptTokens, completionTokens, thinkingTokens, tokenSource, creditsHundredths, estimatedHundredths } = turn;
  return {
    ...encodeListed(turn, nameOf),
    ended_at: iso(turn.endedAtMs),
    reason: turn.reason,
    model: turn.model,
    api: turn.dialect,
    tokens:
      tokenSource === "unknown"
        ? null
        : { in: promptTokens, out: completionTokens + thinkingTokens, estimated: tokenSource === "estimated" },
    credits: creditsHundredths === undefined ? null : creditsHundredths / 100,
    credits_estimated: estimatedHundredths === undefined ? null : estimatedHundredths / 100,
    duration_ms: Math.max(0, turn.endedAtMs - turn.startedAtMs),
    status: turn.outcome,
  };
}
