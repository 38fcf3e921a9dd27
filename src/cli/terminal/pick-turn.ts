import { existsSync } from "node:fs";
import { z } from "zod";
import { defaultHints, type ErrorCode, isMillraceError, MillraceError } from "../../base/errors.ts";
import { openFileRecordStore } from "../../client/node/file-record-store.ts";
import type { RecordStore } from "../../client/records/record-store.ts";
import { observe } from "../../client/stream/observe.ts";
import type { StreamPass } from "../../client/stream/stream.ts";
import type { ConnectionChange } from "../../client/stream/stream-options.ts";
import { turnDetailSchema } from "../../gateway/dashboard/turn-summary.ts";
import { turnListSchema, turnSchema } from "../../gateway/routes/answer-schemas.ts";
import { linkTo, openPastChats, readStreamNote, shortened } from "../chat/chat-streams.ts";
import type { CommandContext } from "../command.ts";
import { spellAge, spellCount } from "../doctor/spell.ts";
import { askGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { nothingHere } from "./exit-codes.ts";
import { type Column, printTable } from "./table.ts";

/** How many turns a list shows, and how far back the search for the newest readable one goes. */
export const mostTurns = 20;

/** A turn that can be shown. `own`: the stream whose key opens the turn, if it is sealed. */
interface PickedTurn {
  readonly turn: Turn;
  readonly own: OwnStream | undefined;
}

/**
 * The turn with this id or the end of one, or of the chat with this id, or the newest readable one. Prints the skipped turns on
 * stderr.
 *
 * @throws MillraceError `invalid_request` if there is none, or its key is not available.
 */
export async function pickTurn(
  id: string | undefined,
  gateway: GatewayClient,
  context: CommandContext,
): Promise<PickedTurn> {
  const { signal } = context;
  if (id === undefined) return newestReadable(gateway, context);
  const chat = id.startsWith("turn_") ? undefined : await chatOf(id, context);
  if (chat !== undefined) {
    const turnId = await turnOfStream(chat, gateway, context);
    if (turnId !== undefined) return { own: chat, turn: await turnOf(gateway, turnId, signal) };
    throw new MillraceError("expired", "The gateway does not know this chat.", {
      hint: "The question has not reached the gateway yet, or the answer was deleted.",
    });
  }
  const turn = await turnOf(gateway, await wholeId(id, gateway, signal), signal);
  const own = (await ownTurns([turn], gateway, context)).get(turn.id);
  if (turn.sealed !== true || own !== undefined) return { turn, own };
  const failure = turn.status === "failed" ? await failureOf(turn.id, gateway, signal) : undefined;
  if (failure !== undefined)
    throw new MillraceError(
      "invalid_request",
      `The turn ${turn.id} failed: ${failure}. Its text is encrypted: only the client that sent it has the key.`,
      failure in defaultHints ? { hint: defaultHints[failure as ErrorCode] } : {},
    );
  throw new MillraceError(
    "invalid_request",
    `The turn ${turn.id} is encrypted: only the client that sent it has the key.`,
    {
      hint: `The keys of chats are in ${context.settings.streamsFolder} until their answers have arrived. None of them fits this turn.`,
    },
  );
}

/** The id that ends so, where it is one of the newest turns: `millrace status` shows the ends of ids. */
async function wholeId(end: string, gateway: GatewayClient, signal: AbortSignal): Promise<string> {
  if (end.startsWith("turn_")) return end;
  const found = (await newestTurns(gateway, mostTurns, signal)).filter(({ id }) => id.endsWith(end));
  return found.length === 1 ? (found[0]?.id ?? end) : end;
}

/**
 * Why a turn failed, as a code; undefined where nothing tells. The gateway knows it of an encrypted turn too; where it cannot open the
 * turn any more, the usage history has it.
 */
export async function failureOf(id: string, gateway: GatewayClient, signal: AbortSignal): Promise<string | undefined> {
  const path = `/dashboard/api/turns/${encodeURIComponent(id)}/summary`;
  const reason = turnDetailSchema.pick({ reason: true });
  try {
    return (await askGateway(gateway, path, reason, { signal })).reason ?? undefined;
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const page = z.object({ data: z.array(z.object({ reason: z.string() })) });
    const ended = `/dashboard/api/usage/turns?totals=0&id=${encodeURIComponent(id)}`;
    const found = await askGateway(gateway, ended, page, { signal }).catch(() => undefined);
    signal.throwIfAborted();
    return found?.data[0]?.reason;
  }
}

/** The newest turns, the newest first. */
export async function listTurns(gateway: GatewayClient, context: CommandContext): Promise<readonly PickedTurn[]> {
  const turns = await newestTurns(gateway, mostTurns, context.signal);
  const own = await ownTurns(turns, gateway, context);
  return turns.map((turn) => ({ turn, own: own.get(turn.id) }));
}

async function newestReadable(gateway: GatewayClient, context: CommandContext): Promise<PickedTurn> {
  const listed = await listTurns(gateway, context);
  const at = listed.findIndex(({ turn, own }) => turn.sealed !== true || own !== undefined);
  const found = listed[at];
  if (found !== undefined) {
    if (at > 0) context.out.note(`Skipped ${spellCount(at, "newer turn")} that only their clients can read.`);
    return found;
  }
  if (listed.length === 0)
    throw nothingHere("The gateway has no turns yet.", "Ask a question first, for example with `millrace chat`.");
  throw nothingHere(
    listed.length === 1
      ? "The only turn is encrypted: only the client that sent it has its key."
      : `The newest ${listed.length} turns are encrypted: only the clients that sent them have their keys.`,
    "Millrace keeps the keys of your own chats for a day, unless you chat with `--no-record`.",
  );
}

/** The streams of this user's chats that the sealed ones of these turns belong to, by the ids of the turns. */
async function ownTurns(
  turns: readonly Turn[],
  gateway: GatewayClient,
  context: CommandContext,
): Promise<ReadonlyMap<string, OwnStream>> {
  const wanted = new Set(turns.filter(({ sealed }) => sealed === true).map(({ id }) => id));
  const found = new Map<string, OwnStream>();
  for (const stream of wanted.size === 0 ? [] : await listOwnStreams(context)) {
    if (found.size === wanted.size) break;
    const turnId = await turnOfStream(stream, gateway, context).catch((error: unknown) => {
      context.signal.throwIfAborted();
      if (isMillraceError(error)) return undefined; // this chat's turn stays encrypted; the others are shown
      throw error;
    });
    if (turnId !== undefined && wanted.has(turnId)) found.set(turnId, stream);
  }
  return found;
}

/** The chat whose id starts so. Throws `invalid_request` where several do. */
async function chatOf(start: string, context: CommandContext): Promise<OwnStream | undefined> {
  const found = (await listOwnStreams(context)).filter(({ pass }) => pass.streamKey.startsWith(start));
  if (found.length < 2) return found[0];
  throw new MillraceError("invalid_request", `${found.length} chats have an id that starts with ${start}.`, {
    hint: "Give more characters of the id. `millrace tail --list` shows the ids.",
  });
}

/** A turn as the gateway lists it. */
export type Turn = z.output<typeof turnListSchema>["data"][number];

/** The newest turns of the gateway, the newest first, sealed ones too. Throws as `callGateway` does. */
export async function newestTurns(
  gateway: GatewayClient,
  limit: number,
  signal: AbortSignal,
): Promise<readonly Turn[]> {
  return (await askGateway(gateway, `/v1/turns?limit=${limit}`, turnListSchema, { signal })).data;
}

/** One turn. Throws `invalid_request` for an unknown one. */
async function turnOf(gateway: GatewayClient, id: string, signal: AbortSignal): Promise<Turn> {
  try {
    return await askGateway(gateway, `/v1/turns/${encodeURIComponent(id)}`, turnSchema, { signal });
  } catch (error) {
    if (!isMillraceError(error) || error.code !== "invalid_request") throw error;
    const listed = (await newestTurns(gateway, mostTurns, signal)).find((turn) => turn.id === id);
    if (listed !== undefined) return listed; // the gateway cannot open it any more: its client has the key
    throw new MillraceError("invalid_request", `The gateway has no turn ${id}.`, {
      hint: "`millrace tail --list` lists its turns. Old turns are deleted.",
      cause: error,
    });
  }
}

const columns: readonly Column[] = [
  { title: "TURN", whole: true },
  { title: "AGE", align: "right" },
  { title: "STATUS", whole: true },
  { title: "MODEL", drop: 2 },
  { title: "CLIENT", drop: 3 },
  { title: "QUESTION", drop: 1 },
];

/** A row for each turn: its id, age, status, model and client, and its question where this user's records have it. */
export function showTurns(
  turns: readonly { readonly turn: Turn; readonly own: OwnStream | undefined }[],
  wide: boolean,
  { out, io }: CommandContext,
): void {
  if (turns.length === 0) return out.note("The gateway has no turns yet.");
  const rows = turns.map(({ turn, own }) => {
    const question = own === undefined ? (turn.sealed === true ? "(encrypted)" : "") : shortened(own.question);
    const age = spellAge(io.clock.now() - Date.parse(turn.created_at));
    return [turn.id, age, turn.status, turn.model, turn.client ?? "", question];
  });
  printTable(columns, rows, out, wide);
}

/** A stream of one of this user's chats, by its record. */
export interface OwnStream {
  readonly pass: StreamPass;
  readonly question: string;
  readonly createdAtMs: number;
}

/**
 * The streams whose keys are at hand, newest first: those that have not ended, also of other processes, and those whose answers have
 * arrived. Unreadable records are skipped.
 */
export async function listOwnStreams(context: CommandContext): Promise<readonly OwnStream[]> {
  const { settings, io } = context;
  const folder = settings.streamsFolder;
  if (!existsSync(folder)) return []; // there was no chat yet
  const stores = [await openFileRecordStore({ folder, clock: io.clock }), await openPastChats(context)];
  const found = (await Promise.all(stores.map(streamsIn))).flat();
  return found.sort((a, b) => b.createdAtMs - a.createdAtMs);
}

async function streamsIn(store: RecordStore): Promise<readonly OwnStream[]> {
  const found: OwnStream[] = [];
  for (const streamKey of await store.list()) {
    try {
      const record = await store.peek(streamKey);
      if (record === undefined) continue; // it has ended meanwhile
      const { encryptionKey, createdAtMs, label } = record;
      found.push({ pass: { streamKey, encryptionKey }, question: readStreamNote(label).question, createdAtMs });
    } catch (error) {
      if (!isMillraceError(error)) throw error; // its owner gets the error
    }
  }
  return found;
}

/** The turn that a stream is at, as the gateway lists it; undefined where it knows none of this stream. */
export async function turnOfStream(
  { pass }: OwnStream,
  gateway: GatewayClient,
  context: CommandContext,
): Promise<string | undefined> {
  const enough = new AbortController();
  let turnId: string | undefined;
  const options = {
    gateway: linkTo(gateway, "millrace-tail", context),
    clock: context.io.clock,
    follow: false,
    backoff: { baseMs: 250, capMs: 1000, budget: 5 },
    onConnection: (change: ConnectionChange) => {
      if (change.state !== "attached") return;
      turnId = change.turnId;
      enough.abort(); // the welcome said it
    },
  };
  try {
    for await (const _ of observe(pass, options, AbortSignal.any([context.signal, enough.signal])));
  } catch (error) {
    context.signal.throwIfAborted();
    if (!enough.signal.aborted && !(isMillraceError(error) && error.code === "expired")) throw error;
  }
  return turnId;
}
