import { existsSync } from "node:fs";
import type { z } from "zod";
import { defaultHints, type ErrorCode, isMillraceError, MillraceError } from "../../base/errors.ts";
import { openFileRecordStore } from "../../client/node/file-record-store.ts";
import type { RecordStore } from "../../client/records/record-store.ts";
import { observe } from "../../client/stream/observe.ts";
import type { StreamPass } from "../../client/stream/stream.ts";
import type { ConnectionChange } from "../../client/stream/stream-options.ts";
import { turnDetailSchema } from "../../gateway/dashboard/turn-summary.ts";
import { turnListSchema, turnSchema } from "../../gateway/routes/answer-schemas.ts";
import { type TurnPageEnvelope, turnPageSchema } from "../../usage/turn-page-envelope.ts";
import type { CommandContext } from "../command.ts";
import { askGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import type { Settings } from "../settings.ts";
import { nothingHere } from "../terminal/exit-codes.ts";
import { spellCount } from "../terminal/spell.ts";
import { linkTo, openPastChats, readStreamNote } from "./chat-streams.ts";

/** How many turns a list shows, and how far back the search for the newest readable one goes. */
export const mostTurns = 20;

/** A turn that can be shown. `own`: the stream whose key opens the turn, if it is sealed. */
interface PickedTurn {
  readonly turn: Turn;
  readonly own: OwnStream | undefined;
}

/**
 * The turn with this id or the end of one, or the newest readable one. Prints the skipped turns on stderr.
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
  const turn = await turnOf(gateway, await wholeId(id, gateway, signal), context);
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

/** The id that ends so, of any turn that the gateway still knows: lists show the ends of ids. */
async function wholeId(end: string, gateway: GatewayClient, signal: AbortSignal): Promise<string> {
  if (end.startsWith("turn_")) return end;
  const kept = await newestTurns(gateway, 1000, signal);
  const known = kept.some(({ id }) => id.endsWith(end))
    ? kept
    : (await endedTurns(gateway, { search: end }, signal)).data;
  const found = known.filter(({ id }) => id.endsWith(end));
  return found.length === 1 ? (found[0]?.id ?? end) : end;
}

/** Ended turns of the usage history, newest first: it knows them long after their texts have expired. None where it cannot be read. */
export async function endedTurns(
  gateway: GatewayClient,
  asked: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Pick<TurnPageEnvelope, "data" | "totals">> {
  const query = new URLSearchParams({ since: "400d", totals: "0", limit: String(mostTurns), ...asked });
  try {
    return await askGateway(gateway, `/dashboard/api/usage/turns?${query.toString()}`, turnPageSchema, { signal });
  } catch (error) {
    if (isMillraceError(error)) return { data: [], totals: null };
    throw error;
  }
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
    return (await endedTurns(gateway, { id }, signal)).data[0]?.reason;
  }
}

async function newestReadable(gateway: GatewayClient, context: CommandContext): Promise<PickedTurn> {
  const turns = await newestTurns(gateway, mostTurns, context.signal);
  const ofChats = await ownTurns(turns, gateway, context);
  const listed = turns.map((turn) => ({ turn, own: ofChats.get(turn.id) }));
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
export async function ownTurns(
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

/** A turn as the gateway lists it. */
export type Turn = z.output<typeof turnListSchema>["data"][number];

/** The newest turns of the gateway, the newest first, sealed ones too; `more` is added to the query. Throws as `callGateway` does. */
export async function newestTurns(
  gateway: GatewayClient,
  limit: number,
  signal: AbortSignal,
  more = "",
): Promise<readonly Turn[]> {
  return (await askGateway(gateway, `/v1/turns?limit=${limit}${more}`, turnListSchema, { signal })).data;
}

/** One turn. Throws `invalid_request` for an unknown one, `expired` for one whose texts are gone. */
async function turnOf(gateway: GatewayClient, id: string, { signal, settings }: CommandContext): Promise<Turn> {
  try {
    return await askGateway(gateway, `/v1/turns/${encodeURIComponent(id)}`, turnSchema, { signal });
  } catch (error) {
    if (!isMillraceError(error) || !["invalid_request", "expired"].includes(error.code)) throw error;
    const listed = (await newestTurns(gateway, mostTurns, signal)).find((turn) => turn.id === id);
    if (listed !== undefined) return listed; // the gateway cannot open it any more: its client has the key
    const [ended] = (await endedTurns(gateway, { id }, signal)).data;
    if (ended !== undefined || error.code === "expired")
      throw new MillraceError("expired", `The texts of ${id} are deleted: ${spellKept(settings)}.`, {
        hint: keepLonger,
        cause: error,
      });
    throw new MillraceError("invalid_request", `The gateway has no turn ${id}.`, {
      hint: "`millrace tail --list` lists its turns.",
      cause: error,
    });
  }
}

/** How long the running gateway keeps texts. */
export function spellKept({ gatewayFile }: Settings): string {
  return `the gateway keeps texts for ${readGatewayFile(gatewayFile)?.options?.["retention"] ?? "2h"} after the end`;
}

export const keepLonger = "`millrace config set retention 7d`, then `millrace restart`, keeps the next ones longer.";

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
  const folder = context.settings.streamsFolder;
  if (!existsSync(folder)) return []; // there was no chat yet
  const stores = [await openFileRecordStore({ folder }), await openPastChats(context)];
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
  stream: OwnStream,
  gateway: GatewayClient,
  context: CommandContext,
): Promise<string | undefined> {
  return (await readStream(stream, gateway, context, { onlyTurn: true })).turnId;
}

/** The turn of a stream, and its answer as far as it is there now; no answer with `onlyTurn`. */
export async function readStream(
  { pass }: OwnStream,
  gateway: GatewayClient,
  context: CommandContext,
  { onlyTurn }: { readonly onlyTurn: boolean },
): Promise<{ readonly turnId: string | undefined; readonly answer: string }> {
  const enough = new AbortController();
  let turnId: string | undefined;
  let answer = "";
  const options = {
    gateway: linkTo(gateway, "millrace-tail", context),
    clock: context.io.clock,
    follow: false,
    backoff: { baseMs: 250, capMs: 1000, budget: 5 },
    onConnection: (change: ConnectionChange) => {
      if (change.state !== "attached") return;
      turnId = change.turnId; // the welcome said it
      if (onlyTurn) enough.abort();
    },
  };
  try {
    for await (const event of observe(pass, options, AbortSignal.any([context.signal, enough.signal]))) {
      if (event.type === "text") answer += event.delta;
      else if (event.type === "rewritten") answer = event.text;
    }
  } catch (error) {
    context.signal.throwIfAborted();
    if (!enough.signal.aborted && !(isMillraceError(error) && error.code === "expired")) throw error;
  }
  return { turnId, answer };
}
