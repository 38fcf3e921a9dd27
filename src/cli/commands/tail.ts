import { MillraceError } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import { observe } from "../../client/stream/observe.ts";
import { linkTo } from "../chat/chat-streams.ts";
import type { OwnStream } from "../chat/own-streams.ts";
import { tellConnection } from "../chat/show-answer.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { followTurn } from "../gateway-process/follow-turn.ts";
import { findGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { listTurns, mostTurns, pickTurn, showTurns, type Turn } from "../terminal/pick-turn.ts";
import { type ShownEvent, ShownTurn, toShownEvent } from "../terminal/shown-turn.ts";

export const tailCommand = defineCommand({
  ...outlines.tail,
  description:
    "Shows one turn, the newest by default. The answer goes to stdout, thinking and other events go to stderr. With --follow it continues until the turn ends, even if the gateway restarts. It does not change the turn: it neither keeps it running nor cancels it. A turn of `millrace chat` is encrypted; its key is kept for you for a day, unless you chat with --no-record.",
  options: {
    list: flag(`list the newest turns, ${mostTurns} at most`),
    follow: flag("continue until the turn ends", { short: "f" }),
    wide: flag("with --list: show all columns, even on a narrow terminal"),
    json: flag("print each event as one line of JSON; with --list: the turns"),
  },
  examples: [
    ["millrace tail --follow", "the newest turn, to its end"],
    ["millrace tail turn_01k… --json", "all events of a turn so far"],
    ["millrace tail --list", "the newest turns and their ids"],
    ["millrace tail 2vg9ncb2", "one of them, by the end of its id"],
  ],
  async run({ options, args }, context) {
    const { out, settings, signal } = context;
    const [id] = args;
    if (id !== undefined && options.list)
      throw new MillraceError("invalid_request", "Use either an id or --list.", { hint: "Give one of them." });
    const gateway = await findGateway(settings, signal);
    if (gateway === undefined) {
      throw new MillraceError("ide_not_running", "The turns cannot be read, because no gateway is running.", {
        hint: "Type `millrace serve --background`, then this again. Answers are kept for two hours.",
      });
    }
    if (options.list) {
      const listed = await listTurns(gateway, context);
      if (options.json) out.json({ data: listed.map(({ turn }) => turn) });
      else showTurns(listed, options.wide, context);
      return exitCodes.ok;
    }
    const { turn, own } = await pickTurn(id, gateway, context);
    const shown = options.json ? undefined : new ShownTurn(out);
    if (!options.json) out.note(`${turn.id}  ${turn.model}  ${turn.client ?? "unknown client"}  ${turn.status}`);
    const events =
      own === undefined ? eventsOf(turn, options.follow, context) : observed(own, gateway, options.follow, context);
    let last: ShownEvent | undefined;
    try {
      for await (const event of events) {
        last = event;
        if (shown === undefined) out.json(event, "line");
        else shown.add(event);
      }
    } finally {
      out.endLine();
    }
    return last?.type === "failed" || last?.type === "cancelled" ? exitCodes.negative : exitCodes.ok;
  },
});

async function* eventsOf(turn: Turn, follows: boolean, context: CommandContext): AsyncGenerator<ShownEvent, void> {
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

/** The stream that a sealed turn belongs to, read along. */
async function* observed(
  { pass }: OwnStream,
  gateway: GatewayClient,
  follow: boolean,
  context: CommandContext,
): AsyncGenerator<ShownEvent, void> {
  const { io, out, signal } = context;
  const options = {
    gateway: linkTo(gateway, "millrace-tail", context),
    clock: io.clock,
    follow,
    onConnection: tellConnection(out),
  };
  for await (const event of observe(pass, options, signal)) yield toShownEvent(event);
}
