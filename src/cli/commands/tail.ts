import { z } from "zod";
import type { Clock } from "../../base/clock.ts";
import { type ErrorCode, isMillraceError, MillraceError } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import { waitBefore } from "../../client/link/backoff.ts";
import { untilSilent } from "../../client/link/until-silent.ts";
import { type ObservedEvent, observe } from "../../client/stream/observe.ts";
import { isTerminal, type TurnEvent, type TurnEventBody } from "../../log/event.ts";
import { linkTo } from "../chat/chat-streams.ts";
import { mostTurns, type OwnStream, pickTurn, type Turn } from "../chat/pick-turn.ts";
import { tellConnection } from "../chat/show-answer.ts";
import { findTurns, listTurns, showTurns, spellSearched } from "../chat/turn-list.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import {
  callGateway,
  findGateway,
  type GatewayClient,
  messagesOf,
  needGateway,
} from "../gateway-process/gateway-client.ts";
import { flag, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import type { Output } from "../terminal/output.ts";

export const tailCommand = defineCommand({
  ...outlines.tail,
  description:
    "Shows one turn, the newest by default. The answer goes to stdout, thinking and other events go to stderr. With --follow it continues until the turn ends, even if the gateway restarts. It does not change the turn: it neither keeps it running nor cancels it. A turn of `millrace chat` is encrypted; its key is kept for you for a day, unless you chat with --no-record.",
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
      const listed = await listTurns(gateway, context);
      if (options.json) out.json({ data: listed });
      else if (listed.length === 0) out.note("The gateway has no turns yet.");
      else showTurns(listed, options.wide, context);
      return exitCodes.ok;
    }
    const { turn, own } = await pickTurn(id, gateway, context);
    const show = options.json ? (event: ShownEvent) => out.json(event, "line") : turnPrinter(out);
    if (!options.json) out.note(`${turn.id}  ${turn.model}  ${turn.client ?? "unknown client"}  ${turn.status}`);
    const events =
      own === undefined ? eventsOf(turn, options.follow, context) : observed(own, gateway, options.follow, context);
    let last: ShownEvent | undefined;
    try {
      for await (const event of events) {
        last = event;
        show(event);
      }
    } finally {
      out.endLine();
    }
    const isEnded = last !== undefined && ["finished", "failed", "cancelled"].includes(last.type);
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
  const { out } = context;
  if (wanted.trim() === "")
    throw new MillraceError("invalid_request", "--search needs a text.", { hint: "Give a word of the answer." });
  const { turns, ...counts } = await findTurns(wanted.trim(), gateway, context);
  if (json) out.json({ data: turns, ...counts });
  else {
    if (turns.length > 0) showTurns(turns, wide, context);
    out.note(`${turns.length === 0 ? "Nothing was found. " : ""}${spellSearched(counts, context)}`);
  }
  return turns.length === 0 ? exitCodes.negative : exitCodes.ok;
}

async function* eventsOf(turn: Turn, follows: boolean, context: CommandContext): AsyncGenerator<ShownEvent, void> {
  if (!follows && turn.last_event_id === startOfLog) return;
  for await (const event of followTurn(turn.id, context)) {
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

/** The parts of a turn's event that are shown. The gateway's own events have them. */
type ShownEvent = { readonly eventId: string } & (
  | Extract<TurnEventBody, { readonly type: "text" | "thinking" | "rewritten" | "tool_call" | "failed" }>
  | { readonly type: "started" | "usage" | "finished" }
  | { readonly type: "cancelled"; readonly by: string }
);

/** Shows a turn's events as a person reads them: the answer on stdout, everything else on stderr. */
function turnPrinter(out: Output): (event: ShownEvent) => void {
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

/** An event of an observed stream in the form of a turn's events, without their times, which a stream does not have. */
function toShownEvent(event: ObservedEvent): ShownEvent {
  const { eventId } = event;
  if (event.type === "rewritten") return { type: event.type, text: event.text, eventId };
  if (event.type === "tool_call") {
    const { type, callId, name, arguments: argumentsDelta } = event;
    return { type, callId, name, argumentsDelta, done: true, eventId };
  }
  if (event.type !== "end") return event;
  if (event.outcome === "finished") return { type: event.outcome, eventId };
  if (event.outcome === "cancelled") return { type: event.outcome, by: event.reason, eventId };
  const { errorCode, errorMessage: message = "The answer failed.", errorHint: hint = "" } = event;
  const code = (errorCode ?? "upstream_failed") as ErrorCode; // the gateway's own; a code from a newer gateway is shown unchanged
  return { type: event.outcome, error: { code, message, hint }, eventId };
}

/** A quarter of an hour at most. */
const backoff = { baseMs: 250, capMs: 15_000, budget: 120 };
/** The gateway says something at least every 15 s as long as the model's server lives; a reconnect costs one request. */
const stallMs = 60_000;

const eventSchema = z.looseObject({ type: z.string(), eventId: z.string(), atMs: z.number() });

/**
 * Every event of a turn to its end, over any number of connections, each event once. The gateway is looked for at each: it may have a
 * new address after a restart. It does not keep the turn alive. Throws the gateway's refusal, and `upstream_failed` when the gateway does not
 * come back.
 */
async function* followTurn(
  turnId: string,
  { io: { clock }, out, settings, signal }: CommandContext,
): AsyncGenerator<TurnEvent, void> {
  let cursor: string = startOfLog;
  let fruitless = 0;
  let isAway = false;
  for (;;) {
    try {
      const gateway = await findGateway(settings, signal);
      for await (const event of followOnce(gateway, { turnId, cursor }, clock, signal)) {
        if (isAway) out.note("The gateway is back.");
        isAway = false;
        fruitless = 0;
        yield event;
        cursor = event.eventId;
        if (isTerminal(event)) return;
      }
      return; // it has nothing more: the cursor was the end
    } catch (error) {
      if (signal.aborted || !(error instanceof TurnLoss)) throw error;
      fruitless++;
      const waitMs = waitBefore(fruitless, backoff, Math.random);
      if (waitMs === undefined) throw error.cause;
      if (fruitless === 2 && !isAway) {
        isAway = true;
        out.note("The gateway does not answer; trying again.");
      }
      await clock.sleep(waitMs, signal);
    }
  }
}

/** The connection is gone, and another one may bring the rest. */
class TurnLoss extends Error {
  override readonly name = "TurnLoss";
}

function lost(cause: unknown): TurnLoss {
  return new TurnLoss("the connection to the gateway is gone", { cause });
}

/** One connection. Returns only when the gateway reports the end; throws `TurnLoss` otherwise. */
async function* followOnce(
  gateway: GatewayClient | undefined,
  { turnId, cursor }: { readonly turnId: string; readonly cursor: string },
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, void> {
  const gone = new MillraceError("upstream_failed", "The gateway does not answer, so the turn cannot be followed.", {
    hint: "Start it with `millrace serve`. It keeps a finished turn for two hours, or for the time of --retention.",
  });
  if (gateway === undefined) throw lost(gone);
  const stop = new AbortController();
  const reading = AbortSignal.any([signal, stop.signal]);
  let response: Response;
  try {
    const path = `/v1/turns/${encodeURIComponent(turnId)}/events`;
    response = await callGateway(gateway, path, {
      headers: { "last-event-id": cursor },
      clientName: "millrace-tail",
      signal: reading,
    });
  } catch (error) {
    // The gateway's own words are final; a connection that did not come about is not.
    throw isMillraceError(error) && error.cause !== undefined ? lost(gone) : error;
  }
  if (response.status === 204) return;
  try {
    const body: AsyncIterable<Uint8Array> = response.body ?? new ReadableStream<Uint8Array>();
    for await (const { event, data } of messagesOf(untilSilent(body, () => stallMs, clock, stop))) {
      if (event === "alive") continue;
      if (event === "error") throw lost(gone); // the log could not be read on; what it said of why is in the gateway's log
      const parsed = eventSchema.parse(JSON.parse(data));
      if (parsed.eventId !== cursor) yield parsed as unknown as TurnEvent; // our own gateway writes them
    }
  } catch (error) {
    if (signal.aborted || error instanceof TurnLoss || error instanceof z.ZodError) throw error;
    throw lost(gone);
  }
  throw lost(gone);
}
