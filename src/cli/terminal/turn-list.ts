import { z } from "zod";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { shortened } from "../chat/chat-streams.ts";
import type { CommandContext } from "../command.ts";
import type { OwnStream } from "../compose/own-streams.ts";
import { spellAge } from "../doctor/spell.ts";
import { callGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { type Column, printTable } from "./table.ts";

const turnSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  model: z.string(),
  client: z.string().nullable(),
  dialect: z.string().optional(),
  created_at: z.string(),
  last_event_id: z.string(),
  sealed: z.boolean().optional(),
});
const listSchema = z.object({ data: z.array(turnSchema) });

/** A turn as the gateway lists it. */
export type Turn = z.output<typeof turnSchema>;

/** The newest turns of the gateway, the newest first, sealed ones too. Throws as `callGateway` does. */
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
/** A terminal narrower than this gets the end of each id, which `tail` takes as well. */
const roomForIds = 52;
const shortIdLength = 8;

/** A row for each turn: its id, age, status, model and client, and its question where this user's records have it. */
export function showTurns(
  turns: readonly { readonly turn: Turn; readonly own: OwnStream | undefined }[],
  wide: boolean,
  { out, io }: CommandContext,
): void {
  if (turns.length === 0) return out.note("The gateway has no turns yet.");
  const isNarrow = !wide && out.isTerminal && out.columns < roomForIds;
  const rows = turns.map(({ turn, own }) => {
    const question = own === undefined ? (turn.sealed === true ? "(encrypted)" : "") : shortened(own.question);
    const age = spellAge(io.clock.now() - Date.parse(turn.created_at));
    const id = isNarrow ? turn.id.slice(-shortIdLength) : turn.id;
    return [id, age, turn.status, turn.model, turn.client ?? "", question];
  });
  printTable(columns, rows, out, wide);
}
