import { MillraceError } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import { isTerminal, type TurnEvent } from "../../log/event.ts";
import { followTurn, gatewayNow } from "../chat/follow-turn.ts";
import { mostTurns, pickTurn, type Turn } from "../chat/pick-turn.ts";
import { findTurns, listTurns, showTurns, spellSearched } from "../chat/turn-list.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { type GatewayClient, needGateway } from "../gateway-process/gateway-client.ts";
import { flag, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import type { Output } from "../terminal/output.ts";

export const tailCommand = defineCommand({
  ...outlines.tail,
  description:
    "Shows one turn, the newest by default. The answer goes to stdout, thinking and other events go to stderr. With --follow it continues until the turn ends, even if the gateway restarts. It does not change the turn: it neither keeps it running nor cancels it.",
  options: {
    list: flag(`list the newest turns, ${mostTurns} at most, also those whose texts are deleted`),
    search: text("list the turns whose question or answer contains this; only texts that are still kept", "<text>"),
    follow: flag("continue until the turn ends", { short: "f" }),
    wide: flag("with --list or --search: show all columns and whole ids, even on a narrow terminal"),
    json: flag("print each event as one line of JSON; with --list or --search: the turns"),
  },
  examples: [
    ["millrace tail --follow", "the newest turn, to its end"],
    ["millrace tail turn_01k… --json", "all events of a turn so far"],
    ["millrace tail --list", "the newest turns and their ids"],
    ["millrace tail 2vg9ncb2", "one of them, by the end of its id"],
    ['millrace tail --search "race condition"', "where was that answer?"],
  ],
  async run({ options, args }, context) {
    const { out, settings, signal } = context;
    const [id] = args;
    const lists = [...(options.list ? ["--list"] : []), ...(options.search === undefined ? [] : ["--search"])];
    if (lists.length > 1 || (id !== undefined && lists.length > 0))
      throw new MillraceError("invalid_request", `Use only one of ${["an id", "--list", "--search"].join(", ")}.`, {
        hint: "Leave out the others.",
      });
    const gateway = await needGateway("The turns cannot be read", settings, signal);
    if (options.search !== undefined) return search(options.search, options, gateway, context);
    if (options.list) {
      const listed = await listTurns(gateway, signal);
      if (options.json) out.json({ data: listed });
      else if (listed.length === 0) out.note("The gateway has no turns yet.");
      else showTurns(listed, options.wide, context);
      return exitCodes.ok;
    }
    const turn = await pickTurn(id, gateway, context);
    const show = options.json ? (event: TurnEvent) => out.json(event, "line") : turnPrinter(out);
    if (!options.json) out.note(`${turn.id}  ${turn.model}  ${turn.client ?? "unknown client"}  ${turn.status}`);
    let last: TurnEvent | undefined;
    try {
      for await (const event of eventsOf(turn, options.follow, context)) {
        last = event;
        show(event);
      }
    } finally {
      out.endLine();
    }
    const isEnded = last !== undefined && isTerminal(last);
    if (!isEnded && turn.status === "running" && !options.json)
      out.note(`It still runs. To follow it: \`millrace tail ${turn.id.slice(-8)} --follow\``);
    return last?.type === "failed" || last?.type === "cancelled" ? exitCodes.negative : exitCodes.ok;
  },
});

/** Exits 1 where nothing is found, as grep does. */
async function search(
  wanted: string,
  { json, wide }: { readonly json: boolean; readonly wide: boolean },
  gateway: GatewayClient,
  context: CommandContext,
): Promise<number> {
  const { out, signal } = context;
  if (wanted.trim() === "")
    throw new MillraceError("invalid_request", "--search needs a text.", { hint: "Give a word of the answer." });
  const { turns, ...counts } = await findTurns(wanted.trim(), gateway, signal);
  if (json) out.json({ data: turns, ...counts });
  else {
    if (turns.length > 0) showTurns(turns, wide, context);
    out.note(`${turns.length === 0 ? "Nothing was found. " : ""}${spellSearched(counts, context)}`);
  }
  return turns.length === 0 ? exitCodes.negative : exitCodes.ok;
}

async function* eventsOf(turn: Turn, follows: boolean, context: CommandContext): AsyncGenerator<TurnEvent, void> {
  if (!follows && turn.last_event_id === startOfLog) return;
  const followed = { id: turn.id, clientName: "millrace-tail", gateway: gatewayNow(context) } as const;
  for await (const event of followTurn(followed, context)) {
    yield event;
    if (!follows && event.eventId === turn.last_event_id) return;
  }
}

/** Shows a turn's events as a person reads them: the answer on stdout, everything else on stderr. */
function turnPrinter(out: Output): (event: TurnEvent) => void {
  let given = "";
  let isThinking = false;
  return (event) => {
    if (event.type === "text" && isThinking) out.talk("\n\n"); // the thought is over
    if (event.type === "text" || event.type === "thinking") isThinking = event.type === "thinking";
    switch (event.type) {
      case "text":
        return out.write(event.delta);
      case "thinking":
        return out.talk(event.delta);
      case "rewritten":
        out.note("[The model rewrote its answer:]");
        out.endLine();
        return out.write(event.text);
      case "tool_call":
        given += event.argumentsDelta;
        if (!event.done) return;
        out.note(`[calls ${event.name} ${given}]`);
        given = "";
        return;
      case "failed":
        return out.note(`Failed: ${event.error.message} ${event.error.hint}`);
      case "cancelled":
        return out.note(`Cancelled (${event.by}).`);
      case "started":
      case "usage":
      case "finished":
        return;
      default:
        event satisfies never;
    }
  };
}
