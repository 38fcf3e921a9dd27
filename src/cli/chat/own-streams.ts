import { existsSync } from "node:fs";
import { isMillraceError } from "../../base/errors.ts";
import { openFileRecordStore } from "../../client/node/file-record-store.ts";
import type { RecordStore } from "../../client/records/record-store.ts";
import { observe } from "../../client/stream/observe.ts";
import type { StreamPass } from "../../client/stream/stream.ts";
import type { ConnectionChange } from "../../client/stream/stream-options.ts";
import type { CommandContext } from "../command.ts";
import type { GatewayClient } from "../gateway-process/gateway-client.ts";
import { linkTo, openPastChats, readStreamNote } from "./chat-streams.ts";

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
