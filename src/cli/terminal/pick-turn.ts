import { z } from "zod";
import { defaultHints, type ErrorCode, MillraceError } from "../../base/errors.ts";
import type { CommandContext } from "../command.ts";
import { listOwnStreams, type OwnStream, turnOfStream } from "../compose/own-streams.ts";
import { spellCount } from "../doctor/spell.ts";
import { callGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { newestTurns, type Turn, turnOf } from "./turn-list.ts";

const summarySchema = z.object({ reason: z.string().nullable() });

/** How many turns a list shows, and how far back the search for the newest readable one goes. */
export const mostTurns = 20;

/** A turn that can be shown. `own`: the stream whose key opens the turn, if it is sealed. */
export interface PickedTurn {
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
  const keys = new OwnKeys(gateway, context);
  if (id === undefined) return newestReadable(gateway, keys, context);
  const chat = id.startsWith("turn_") ? undefined : await keys.chat(id);
  if (chat !== undefined) return { own: chat, turn: await turnOf(gateway, await keys.turnIdOf(chat), context.signal) };
  const turn = await turnOf(gateway, await wholeId(id, gateway, context.signal), context.signal);
  if (turn.sealed !== true) return { turn, own: undefined };
  const own = await keys.of(turn);
  if (own !== undefined) return { turn, own };
  const failure = turn.status === "failed" ? await failureOf(turn.id, gateway, context.signal) : undefined;
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

/** The id that ends so, where it is one of the newest turns: a narrow list shows the ends of ids. */
async function wholeId(end: string, gateway: GatewayClient, signal: AbortSignal): Promise<string> {
  if (end.startsWith("turn_")) return end;
  const found = (await newestTurns(gateway, mostTurns, signal)).filter(({ id }) => id.endsWith(end));
  return found.length === 1 ? (found[0]?.id ?? end) : end;
}

/** Why a turn failed, as a code: the gateway knows it of an encrypted turn too. */
async function failureOf(id: string, gateway: GatewayClient, signal: AbortSignal): Promise<string | undefined> {
  const response = await callGateway(gateway, `/dashboard/api/turns/${encodeURIComponent(id)}/summary`, { signal });
  return summarySchema.parse(await response.json()).reason ?? undefined;
}

/** The newest turns, the newest first. */
export async function listTurns(gateway: GatewayClient, context: CommandContext): Promise<readonly PickedTurn[]> {
  const keys = new OwnKeys(gateway, context);
  const listed: PickedTurn[] = [];
  for (const turn of await newestTurns(gateway, mostTurns, context.signal))
    listed.push({ turn, own: turn.sealed === true ? await keys.of(turn) : undefined });
  return listed;
}

async function newestReadable(gateway: GatewayClient, keys: OwnKeys, context: CommandContext): Promise<PickedTurn> {
  let sealed = 0;
  for (const turn of await newestTurns(gateway, mostTurns, context.signal)) {
    const own = turn.sealed === true ? await keys.of(turn) : undefined;
    if (turn.sealed === true && own === undefined) {
      sealed++;
      continue;
    }
    if (sealed > 0) context.out.note(`Skipped ${spellCount(sealed, "newer turn")} that only their clients can read.`);
    return { turn, own };
  }
  if (sealed === 0)
    throw new MillraceError("invalid_request", "The gateway has no turns yet.", {
      hint: "Ask a question first, for example with `millrace chat`.",
    });
  const turns = sealed === 1 ? "The only turn there was" : `The newest ${sealed} turns were`;
  throw new MillraceError("invalid_request", `${turns} sealed by the client: only its key opens them.`, {
    hint: `The keys of chats are in ${context.settings.streamsFolder} until their answers have arrived. None of them fits these turns.`,
  });
}

/** The keys of this user's streams, and which turns they open. */
class OwnKeys {
  readonly #gateway: GatewayClient;
  readonly #context: CommandContext;
  #streams: Promise<readonly OwnStream[]> | undefined;
  readonly #turnIds = new Map<OwnStream, Promise<string | undefined>>();

  constructor(gateway: GatewayClient, context: CommandContext) {
    this.#gateway = gateway;
    this.#context = context;
  }

  /** The stream that this turn belongs to. */
  async of(turn: Turn): Promise<OwnStream | undefined> {
    for (const stream of await this.#all()) if ((await this.#turnId(stream)) === turn.id) return stream;
    return undefined;
  }

  /** The stream whose key starts so. Throws `invalid_request` where several do. */
  async chat(start: string): Promise<OwnStream | undefined> {
    const found = (await this.#all()).filter(({ pass }) => pass.streamKey.startsWith(start));
    if (found.length < 2) return found[0];
    throw new MillraceError("invalid_request", `${found.length} chats have an id that starts with ${start}.`, {
      hint: "Give more characters of the id. `millrace tail --list` shows the ids.",
    });
  }

  async turnIdOf(stream: OwnStream): Promise<string> {
    const turnId = await this.#turnId(stream);
    if (turnId !== undefined) return turnId;
    throw new MillraceError("expired", "The gateway does not know this chat.", {
      hint: "The question has not reached the gateway yet, or the answer was deleted.",
    });
  }

  #all(): Promise<readonly OwnStream[]> {
    return (this.#streams ??= listOwnStreams(this.#context));
  }

  #turnId(stream: OwnStream): Promise<string | undefined> {
    const known = this.#turnIds.get(stream) ?? turnOfStream(stream, this.#gateway, this.#context);
    this.#turnIds.set(stream, known);
    return known;
  }
}
