import type { z } from "zod";
import { defaultHints, type ErrorCode, isMillraceError, MillraceError } from "../../base/errors.ts";
import { turnDetailSchema } from "../../gateway/dashboard/turn-summary.ts";
import { turnListSchema, turnSchema } from "../../gateway/routes/answer-schemas.ts";
import { type TurnPageEnvelope, turnPageSchema } from "../../usage/turn-page-envelope.ts";
import type { CommandContext } from "../command.ts";
import { askGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import type { Settings } from "../settings.ts";
import { nothingHere } from "../terminal/exit-codes.ts";
import { spellCount } from "../terminal/spell.ts";

/** How many turns a list shows, and how far back the search for the newest readable one goes. */
export const mostTurns = 20;

/**
 * The turn with this id or the end of one, or the newest readable one. Prints the skipped turns on stderr.
 *
 * @throws MillraceError `invalid_request` if there is none, or only its client can read it.
 */
export async function pickTurn(id: string | undefined, gateway: GatewayClient, context: CommandContext): Promise<Turn> {
  const { signal } = context;
  if (id === undefined) return newestReadable(gateway, context);
  const turn = await turnOf(gateway, await wholeId(id, gateway, signal), context);
  if (turn.sealed !== true) return turn;
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

async function newestReadable(gateway: GatewayClient, { out, signal }: CommandContext): Promise<Turn> {
  const turns = await newestTurns(gateway, mostTurns, signal);
  const at = turns.findIndex(({ sealed }) => sealed !== true);
  const found = turns[at];
  if (found !== undefined) {
    if (at > 0) out.note(`Skipped ${spellCount(at, "newer turn")} that only their clients can read.`);
    return found;
  }
  if (turns.length === 0)
    throw nothingHere("The gateway has no turns yet.", "Ask a question first, for example with `millrace chat`.");
  const which = turns.length === 1 ? "The only turn is" : `The newest ${turns.length} turns are`;
  throw nothingHere(`${which} encrypted.`, "Only the client that sent an encrypted turn can read it.");
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
