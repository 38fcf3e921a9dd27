import { z } from "zod";
import { MillraceError } from "../base/errors.ts";
import { startOfLog } from "../base/ids.ts";
import type { TurnEvent } from "../log/event.ts";
import { type CommandContext, defineCommand } from "./command.ts";
import { exitCodes } from "./exit-codes.ts";
import { followTurn } from "./follow-turn.ts";
import { callGateway, findGateway, type GatewayClient } from "./gateway-client.ts";
import { flag } from "./options.ts";
import { ShownTurn } from "./shown-turn.ts";

const turnSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  model: z.string(),
  client: z.string().nullable(),
  last_event_id: z.string(),
});
const listSchema = z.object({ data: z.array(turnSchema) });
type Turn = z.output<typeof turnSchema>;

export const tailCommand = defineCommand({
  name: "tail",
  summary: "Show what a turn of the gateway has answered, and follow it",
  description:
    "Shows the turn with the given id, or the newest one: text on stdout, thinking and what else happens on stderr. With --follow it goes on to the turn's end, over restarts of the gateway too. It only looks on: it keeps no turn alive and cancels none. Turns that their client sealed with a key of its own, as millrace chat does, are shown to that client alone.",
  group: "Look",
  options: {
    last: flag("the newest turn; also what is shown without an id"),
    follow: flag("go on until the turn ends", { short: "f" }),
    json: flag("print each event as a line of JSON"),
  },
  arguments: [{ name: "turn", summary: "the id of a turn (turn_…)", required: false, variadic: false }],
  examples: [
    ["millrace tail --follow", "the newest turn, to its end"],
    ["millrace tail turn_01k… --json", "all events of a turn so far"],
  ],
  async run({ options, args }, context) {
    const { io, out, settings, signal } = context;
    const [id] = args;
    if (id !== undefined && options.last) {
      throw new MillraceError("invalid_request", "An id and --last name two turns.", { hint: "Give one of them." });
    }
    const gateway = await findGateway(settings, signal);
    if (gateway === undefined) {
      throw new MillraceError("ide_not_running", "No gateway runs, so there are no turns to show.", {
        hint: "Start one with `millrace serve`, in another terminal.",
      });
    }
    const turn = id === undefined ? await newestTurn(gateway, signal) : await turnOf(gateway, id, signal);
    const shown = options.json ? undefined : new ShownTurn(context);
    if (!options.json) out.note(`${turn.id}  ${turn.model}  ${turn.client ?? "unknown client"}  ${turn.status}`);
    let last: TurnEvent | undefined;
    try {
      for await (const event of eventsOf(turn, options.follow, context)) {
        last = event;
        if (shown === undefined) io.stdout.write(`${JSON.stringify(event)}\n`);
        else shown.add(event);
      }
    } finally {
      shown?.endLine();
    }
    return last?.type === "failed" || last?.type === "cancelled" ? exitCodes.negative : exitCodes.ok;
  },
});

async function* eventsOf(turn: Turn, follows: boolean, context: CommandContext): AsyncGenerator<TurnEvent, void> {
  if (!follows && turn.last_event_id === startOfLog) return;
  const { io, out, settings, signal } = context;
  const ports = {
    find: (until: AbortSignal) => findGateway(settings, until),
    clock: io.clock,
    random: Math.random,
    onAway: (isAway: boolean) =>
      out.note(isAway ? "The gateway does not answer; trying again." : "The gateway is back."),
  };
  for await (const event of followTurn(turn.id, startOfLog, ports, signal)) {
    yield event;
    if (!follows && event.eventId === turn.last_event_id) return;
  }
}

async function newestTurn(gateway: GatewayClient, signal: AbortSignal): Promise<Turn> {
  const response = await callGateway(gateway, "/v1/turns?limit=1", { signal });
  const [turn] = listSchema.parse(await response.json()).data;
  if (turn !== undefined) return turn;
  throw new MillraceError("invalid_request", "The gateway has no turn to show.", {
    hint: "Ask it something first. Turns that their client sealed are not among these.",
  });
}

async function turnOf(gateway: GatewayClient, id: string, signal: AbortSignal): Promise<Turn> {
  const response = await callGateway(gateway, `/v1/turns/${encodeURIComponent(id)}`, { signal });
  return turnSchema.parse(await response.json());
}
