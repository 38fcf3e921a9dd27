import { create } from "@bufbuild/protobuf";
import { startOfLog, type TurnId } from "../../base/ids.ts";
import { isTerminal } from "../../log/event.ts";
import type { DoneStep } from "../../log/held-store.fake.ts";
import type { AttachedStream, LogStore, MessageAdmission, ReadRight } from "../../log/store.ts";
import {
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
  StreamEnd_Outcome,
} from "../../proto/aiserver/v1/chat_pb.ts";
import { parseMessage } from "../dialects/idempotent/client-message.ts";
import type { AttachRequest } from "./attach-headers.ts";
import type { MessageInit, RawAttach } from "./raw-client.fake.ts";

/** The messages that one client sent, and the answers that it received. */
export interface Heard {
  readonly name: string;
  readonly sent: readonly MessageInit[];
  readonly acks: readonly number[];
  readonly left: boolean;
  /** Why its connection was ended, if it was. */
  readonly refused: string | undefined;
  readonly end: RawAttach["end"];
}

export interface PlayResult {
  readonly store: LogStore;
  readonly ask: AttachRequest;
  readonly opening: ReadRight;
  /** The actions on the store, in their order. */
  readonly done: readonly DoneStep[];
  readonly heard: readonly Heard[];
  /** How often the model was asked. */
  readonly prompts: number;
}

/** Which of the promises to clients that share a stream do not hold (G1, G5, G6, G8). */
export async function brokenPromises(played: PlayResult): Promise<readonly string[]> {
  const { done, heard, prompts } = played;
  const turns = done.flatMap(({ result }) => turnOf(result) ?? []);
  return [
    ...lateWrites(done),
    ...notTold(done, heard),
    ...(await wronglyAcknowledged(played)),
    ...(await wrongEnds(played, turns)),
    ...(await unheardAborts(played, turns)),
    ...(prompts === turns.length ? [] : [`${prompts} prompts for ${turns.length} turns`]),
    ...(turns.length <= 2 ? [] : [`${turns.length} turns`]),
  ];
}

/** G8: the actions of an attach after a newer one had the stream. */
function lateWrites(done: readonly DoneStep[]): readonly string[] {
  const epochs = new Map<string, number>();
  let newest = 0;
  const broken: string[] = [];
  for (const one of done) {
    const { actor, method, args, result } = one;
    if (isTakeover(one)) {
      newest = one.result.epoch;
      epochs.set(actor, newest);
    }
    const isLate = (epochs.get(actor) ?? newest) < newest;
    if (!isLate) continue;
    if (method === "admit" && (result as MessageAdmission).outcome === "admitted") broken.push(`${actor} wrote late`);
    if (method === "requestCancel" && result === true) broken.push(`${actor} ended a turn late (${String(args[1])})`);
  }
  return broken;
}

/** G8: an attached client learns of a newer attach, unless the stream ends first. */
function notTold(done: readonly DoneStep[], heard: readonly Heard[]): readonly string[] {
  const attached = done.filter((one) => isTakeover(one));
  const newest = attached.at(-1)?.actor;
  return heard.flatMap(({ name, left, refused, end }) => {
    if (name === newest && refused === "superseded") return [`${name} has the newest attach, and got "superseded"`];
    const isOlder = name !== newest && attached.some(({ actor }) => actor === name);
    return isOlder && !left && refused === undefined && end === undefined
      ? [`${name} was replaced, and got no "superseded"`]
      : [];
  });
}

/** G1, G5: each number belongs to one message, and the acknowledged message is that one. */
async function wronglyAcknowledged({ store, ask, heard }: PlayResult): Promise<readonly string[]> {
  const { accepted } = await store.attachStream(ask.name, "observe");
  const broken = accepted.flatMap(({ seqno }, at) => (seqno === at ? [] : [`number ${seqno} is at place ${at}`]));
  for (const { name, sent, acks } of heard) {
    for (const seqno of acks) {
      const mine = sent.find((message) => message.seqno === seqno);
      const held = accepted[seqno];
      if (held === undefined) broken.push(`${name} was acknowledged ${seqno}, which is not there`);
      else if (mine !== undefined && !isSame(mine, held.payload))
        broken.push(`${name} was acknowledged ${seqno}, which is another client's`);
    }
  }
  return broken;
}

/** G6: a turn has one end at most. G7: only an abort cancels a turn. */
async function wrongEnds({ store, opening, heard }: PlayResult, turns: readonly TurnId[]): Promise<readonly string[]> {
  const broken: string[] = [];
  const aborts = heard.some(({ sent }) => sent.some(({ request }) => request?.case === "abort"));
  for (const turnId of turns) {
    const { events } = await store.readAfter(turnId, startOfLog, { limit: 100, ...opening });
    const ends = events.filter(isTerminal);
    if (ends.length > 1) broken.push(`${ends.length} ends`);
    if (ends.some(({ type }) => type === "cancelled") && !aborts) broken.push("cancelled without an abort");
  }
  for (const { name, end } of heard)
    if (end?.outcome === StreamEnd_Outcome.CANCELLED && !aborts)
      broken.push(`${name} got "cancelled" without an abort`);
  return broken;
}

/** G7: an abort of the newest attach ends the running turn, if its client stays connected. */
async function unheardAborts(
  { store, opening, done, heard }: PlayResult,
  turns: readonly TurnId[],
): Promise<readonly string[]> {
  const newest = done.findLast((one) => isTakeover(one))?.actor;
  const aborted = heard.find(
    ({ name, left, sent }) => name === newest && !left && sent.some(({ request }) => request?.case === "abort"),
  );
  if (aborted === undefined) return [];
  const broken: string[] = [];
  for (const turnId of turns) {
    const { events } = await store.readAfter(turnId, startOfLog, { limit: 100, ...opening });
    if (!events.some(isTerminal)) broken.push(`${aborted.name} aborted, and a turn still runs`);
  }
  return broken;
}

function isSame(init: MessageInit, payload: Uint8Array): boolean {
  const mine = parseMessage(create(ClientMessageSchema, init)).payload;
  return Buffer.from(mine).equals(Buffer.from(payload));
}

/** Whether an attach took the stream over with this, and did not only look. */
function isTakeover(
  one: Pick<DoneStep, "method" | "args" | "result">,
): one is DoneStep & { readonly result: AttachedStream } {
  const { method, args, result } = one;
  if (method !== "attachStream" || args[1] === "observe") return false;
  return typeof result === "object" && result !== null && "epoch" in result && "accepted" in result;
}

function turnOf(result: unknown): TurnId | undefined {
  if (typeof result !== "object" || result === null || !("turn" in result)) return undefined;
  return (result as Extract<MessageAdmission, { outcome: "admitted" }>).turn?.record.turnId;
}
