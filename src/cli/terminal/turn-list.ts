import { z } from "zod";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { shortened } from "../chat/chat-streams.ts";
import type { CommandContext } from "../command.ts";
import type { OwnStream } from "../compose/own-streams.ts";
import { spellAge } from "../doctor/spell.ts";
import { callGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";

const turnSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  model: z.string(),
  client: z.string().nullable(),
  created_at: z.string(),
  last_event_id: z.string(),
  sealed: z.boolean().optional(),
});
const listSchema = z.object({ data: z.array(turnSchema) });

/** A turn as the gateway lists it. */
export type Turn = z.output<typeof turnSchema>;

/** The newest turns of the gateway, the newest first, sealed ones too. Throws what `callGateway` throws. */
export async function newestTurns(
  gateway: GatewayClient,
  limit: number,
  signal: AbortSignal,
): Promise<readonly Turn[]> {
  const response = await callGateway(gateway, `/v1/turns?limit=${limit}`, { signal });
  return listSchema.parse(await response.json()).data;
}

/** One turn. Throws `invalid_request` for an unknown one. */
export async function turnOf(gateway: GatewayClient, id: string, signal: AbortSignal): Promise<Turn> {
  try {
    const response = await callGateway(gateway, `/v1/turns/${encodeURIComponent(id)}`, { signal });
    return turnSchema.parse(await response.json());
  } catch (error) {
    if (!isMillraceError(error) || error.code !== "invalid_request") throw error;
    throw new MillraceError("invalid_request", `The gateway has no turn ${id}.`, {
      hint: "`millrace tail --list` shows which there are; old ones are forgotten.",
      cause: error,
    });
  }
}

/** A line for each turn: what names it, how old it is, how it stands, and what can be told of what it is about. */
export function showTurns(
  turns: readonly { readonly turn: Turn; readonly own: OwnStream | undefined }[],
  { out, io }: CommandContext,
): void {
  const widthOf = (text: (turn: Turn) => string) => Math.max(0, ...turns.map(({ turn }) => text(turn).length));
  const [status, model, client] = [
    widthOf((turn) => turn.status),
    widthOf((turn) => turn.model),
    widthOf((turn) => turn.client ?? ""),
  ];
  for (const { turn, own } of turns) {
    const age = spellAge(io.clock.now() - Date.parse(turn.created_at)).padStart(9);
    const about = own === undefined ? (turn.sealed === true ? "(sealed)" : "") : shortened(own.question);
    const who = `${turn.model.padEnd(model)}  ${(turn.client ?? "").padEnd(client)}`;
    out.row(`${turn.id}  ${age}  ${turn.status.padEnd(status)}  ${who}  ${about}`.trimEnd());
  }
}
