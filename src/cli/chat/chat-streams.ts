import { join } from "node:path";
import { bestEffort } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { oneLine, shortened } from "../../base/shown-text.ts";
import type { GatewayLink } from "../../client/link/gateway-link.ts";
import { openFileRecordStore } from "../../client/node/file-record-store.ts";
import { nodeLink } from "../../client/node/node-link.ts";
import { openMemoryRecordStore } from "../../client/records/memory-record-store.ts";
import type { OwnedRecord, RecordStore } from "../../client/records/record-store.ts";
import type { StreamRequest } from "../../client/stream/messages.ts";
import { autoResume, startReliableStream } from "../../client/stream/open-stream.ts";
import type { ReliableStream } from "../../client/stream/stream.ts";
import type { StreamOptions } from "../../client/stream/stream-options.ts";
import type { CommandContext } from "../command.ts";
import { type GatewayClient, sameGateway } from "../gateway-process/gateway-client.ts";
import { version } from "../package-files.ts";

/** Longest part of a question that a list shows, in characters. */
const shownLength = 60;

/** The link to the user's gateway. It looks for the address again at each attach; `command` is the client's name. */
export function linkTo(
  gateway: GatewayClient,
  command: "millrace-chat" | "millrace-tail",
  { settings }: Pick<CommandContext, "settings">,
): GatewayLink {
  const addressOf = async (signal: AbortSignal) => {
    const { url, key } = await sameGateway(gateway, settings, signal);
    return { url, key: key.reveal() };
  };
  return nodeLink(addressOf, { clientName: `${command}/${version()}` });
}

/** Where the records of chats are. */
export async function openChatRecords(
  keep: boolean,
  retentionMs: number,
  context: CommandContext,
): Promise<RecordStore> {
  if (!keep) return openMemoryRecordStore();
  const store = await openFileRecordStore({ folder: context.settings.streamsFolder });
  return keepingPast(store, await openPastChats(context), {
    keptMs: retentionMs + 86_400_000,
    nowMs: () => context.io.clock.now(),
  });
}

/** A chat's note in the record of its stream. */
interface ChatNote {
  readonly model: string;
  readonly question: string;
}

export function readStreamNote(label: string): ChatNote {
  return JSON.parse(label) as ChatNote; // startChat wrote it, and records are sealed
}

/** Starts the stream of one question, which is the last message. It is stored before anything is sent. */
export function startChat(request: StreamRequest, options: StreamOptions, leave: AbortSignal): Promise<ReliableStream> {
  const note: ChatNote = { model: request.model, question: (request.messages.at(-1)?.text ?? "").slice(0, 200) };
  return startReliableStream(request, { ...options, label: JSON.stringify(note) }, leave);
}

/** A question in one line of a list. */
export function questionInList(question: string): string {
  return shortened(oneLine(question), shownLength);
}

/** The newest stream that was cut off. Releases the others. Throws `invalid_request` if there is none. */
export async function newestLeftover(
  options: StreamOptions,
  { out }: CommandContext,
  leave: AbortSignal,
): Promise<ReliableStream> {
  const { streams, damaged, taken } = await autoResume({ ...options, after: "0" }, leave);
  for (const problem of damaged) out.note(`${problem.message} ${problem.hint}`);
  const [newest, ...others] = streams.toSorted((a, b) => b.createdAtMs - a.createdAtMs);
  for (const stream of others) await stream.leave();
  if (newest === undefined) throw nothingLeft(taken.length);
  if (others.length > 0) out.note("An older answer was cut off too: `millrace chat --resume` again.");
  return newest;
}

function nothingLeft(running: number): MillraceError {
  const which = "There is no answer to resume";
  if (running > 0) {
    return new MillraceError("invalid_request", `${which}; another terminal still receives one.`, {
      hint: "`millrace tail --follow` shows the newest of them as it comes.",
    });
  }
  return new MillraceError("invalid_request", `${which}.`, {
    hint: "Only an answer that was cut off, and is still kept, can be resumed. `millrace tail --list` shows the answers that are kept.",
  });
}

/** The records of chats whose answers have arrived: their owner can still read them. */
export function openPastChats({ settings }: Pick<CommandContext, "settings">): Promise<RecordStore> {
  return openFileRecordStore({ folder: join(settings.streamsFolder, "ended") });
}

/** How long the keys of chats are kept after their answers have arrived, ms: the retention of answers, and a day. */
interface PastOptions {
  readonly keptMs: number;
  readonly nowMs: () => number;
}

/** The same store, which keeps a copy of each record that is removed. A copy that cannot be written is only not kept. */
export function keepingPast(store: RecordStore, past: RecordStore, { keptMs, nowMs }: PastOptions): RecordStore {
  return {
    survivesRestart: store.survivesRestart,
    list: () => store.list(),
    peek: (streamKey) => store.peek(streamKey),
    async take(streamKey) {
      const owned = await store.take(streamKey);
      if (owned === undefined) return undefined;
      return {
        read: () => owned.read(),
        save: (record) => owned.save(record),
        setAside: () => owned.setAside(),
        release: () => owned.release(),
        async remove() {
          await bestEffort(keep(streamKey, owned, past));
          await owned.remove();
          await bestEffort(forgetOld(past, nowMs() - keptMs));
        },
      };
    },
  };
}

async function keep(streamKey: string, owned: OwnedRecord, past: RecordStore): Promise<void> {
  const record = await owned.read();
  const copy = await past.take(streamKey);
  if (record !== undefined) await copy?.save(record);
  await copy?.release();
}

async function forgetOld(past: RecordStore, sinceMs: number): Promise<void> {
  for (const streamKey of await past.list()) {
    const record = await past.peek(streamKey).catch(() => undefined); // one that cannot be opened goes as well
    if (record !== undefined && record.createdAtMs > sinceMs) continue;
    const owned = await past.take(streamKey);
    await owned?.remove();
    await owned?.release();
  }
}
