import type { TurnId } from "../base/ids.ts";
import { parseJson, withTexts, writeJson, writeJsonApart } from "../base/json.ts";
import { type CancelledBy, type Claims, eventIdOf, type TerminalEventType } from "./event.ts";
import { questionOf } from "./question.ts";
import type { Row } from "./rows.ts";
import type { NewTurn, Retention, TurnLabel, TurnRecord } from "./store.ts";

/** What a turn's row holds beside its columns, in `meta`. */
export interface TurnMeta {
  readonly caller: string;
  /** The turn's own key, wrapped. */
  readonly key: string;
  /** What lists show of the turn, sealed with the gateway's key; not of builds before labels. */
  readonly label?: string;
  /** The answer in short, sealed likewise, once it has ended. */
  readonly outline?: string;
  readonly attachedAtMs: number;
  /** The longest grace time that was asked for since the turn began, if one was. */
  readonly graceMs?: StoredGrace;
  readonly outcome?: TerminalEventType;
  readonly delivered?: true;
  readonly cancel?: CancelledBy;
  readonly claims?: Claims;
}

/** JSON has no number for an endless grace time. */
type StoredGrace = number | "to_end";

export function metaOf({ meta }: Pick<Row, "meta">): TurnMeta {
  return meta as unknown as TurnMeta; // written by the turn log
}

export function storedGrace(graceMs: number): StoredGrace {
  return graceMs === Infinity ? "to_end" : graceMs;
}

export function graceOf(stored: StoredGrace | undefined): number {
  return stored === "to_end" ? Infinity : (stored ?? 0);
}

/** From so many characters on the long texts of a request stand apart. */
const largeRequest = 1 << 20;

/** JSON of a turn's facts, and the texts of a large one that stand apart. */
export function encodeTurn(turn: NewTurn): readonly [string, ...string[]] {
  const stored = { ...turn, graceMs: storedGrace(turn.graceMs) };
  const parts = turn.request.messages.flatMap((message) => message.parts);
  const length = parts.reduce((sum, part) => sum + (part.type === "text" ? part.text : part.base64).length, 0);
  return length > largeRequest ? writeJsonApart(stored, markOf(turn.turnId)) : [writeJson(stored)];
}

export function decodeTurn(turnId: string, [json, ...apart]: readonly string[]): NewTurn {
  const stored = parseJson(json ?? "");
  return withAbsent((apart.length === 0 ? stored : withTexts(stored, markOf(turnId), apart)) as StoredFacts<NewTurn>); // written by encodeTurn
}

/** No client knows the id before its request is read. */
function markOf(turnId: string): string {
  return `${turnId}:text`;
}

type StoredFacts<Facts> = Omit<Facts, "graceMs"> & { readonly graceMs: StoredGrace };

/** JSON leaves out what is undefined. */
function withAbsent<Facts extends Pick<NewTurn, "graceMs">>(stored: StoredFacts<Facts>): Facts {
  const absent = { modelNumber: undefined, idempotencyKey: undefined, session: undefined, client: undefined };
  return { ...absent, ...stored, graceMs: graceOf(stored.graceMs) } as unknown as Facts; // what was stored
}

/** The part of a label that does not change. */
export type LabelFacts = Omit<NewTurn, "request" | "wire"> & Pick<TurnLabel, "request" | "messageCount" | "question">;

/** What lists show of a turn. Of one that its client sealed: time, model, dialect, client, project and grace time, and no text. */
export function labelOf({ request, wire: _wire, ...facts }: NewTurn, isSealed: boolean): LabelFacts {
  const { model, messages } = request;
  if (!isSealed) return { ...facts, request: { model }, messageCount: messages.length, question: questionOf(request) };
  const { turnId, createdAtMs, caller, dialect, modelUid, modelNumber, client, project, graceMs } = facts;
  return {
    turnId,
    createdAtMs,
    caller,
    dialect,
    modelUid,
    modelNumber,
    client,
    ...(project === undefined ? {} : { project }),
    graceMs,
    request: { model },
    messageCount: 0,
    fingerprint: "",
    idempotencyKey: undefined,
    session: undefined,
  };
}

export function encodeLabel(label: LabelFacts): string {
  return writeJson({ ...label, graceMs: storedGrace(label.graceMs) });
}

export function decodeLabel(text: string): LabelFacts {
  return withAbsent(parseJson(text) as StoredFacts<LabelFacts>); // written by encodeLabel
}

/** A label in the place of a record, for a request that may not be shown. */
export function withoutRequest(label: TurnLabel): TurnRecord {
  return {
    ...label,
    request: {
      model: label.request.model,
      messages: [],
      tools: [],
      toolChoice: { type: "auto" },
      parallelToolCalls: true,
      responseFormat: { type: "text" },
      stop: [],
    },
  };
}

/** A turn's facts with what its row says. */
// oxlint-disable-next-line max-params -- one more than four
export function recordOf<Facts extends LabelFacts>(
  facts: Facts,
  row: Row,
  outline: TurnLabel["outline"],
  nowMs: number,
  retention: Retention,
): Facts & TurnLabel {
  const { attachedAtMs, graceMs, outcome, delivered = false, cancel, claims } = metaOf(row);
  return {
    ...facts,
    ...(outline === undefined ? {} : { outline }),
    graceMs: Math.max(facts.graceMs, graceOf(graceMs)),
    turnId: row.id as TurnId, // the row of a turn
    ended: !row.open,
    outcome,
    delivered,
    cancelRequested: row.open ? cancel : undefined,
    owner: row.owner,
    degraded: false,
    lastEventId: eventIdOf(row.last, claims),
    claims,
    attachedAtMs,
    expiresAtMs: row.expiresAtMs ?? nowMs + retention.keptMs,
  };
}
