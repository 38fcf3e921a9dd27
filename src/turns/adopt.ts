import type { Backend, Batch, Prompt, StopReason } from "../backends/backend.ts";
import { bestEffort, notNeeded } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import { isDegraded, isWithoutIde, MillraceError, toMillraceError } from "../base/errors.ts";
import { startOfLog } from "../base/ids.ts";
import type { BackendKind, TurnEvent, TurnEventBody } from "../log/event.ts";
import type { LogStore, LogWriter, TurnLabel, TurnRecord } from "../log/store.ts";
import { Conversation } from "./continuity/conversation.ts";
import { stateAfter } from "./decide.ts";
import type { Exchange } from "./exchange.ts";
import { continuedPromptOf, exchangeOf, newTurnExchange, promptOf, stagesOf } from "./plan.ts";
import { loggedAnswer, reconcile } from "./reconcile.ts";
import { Runner } from "./run.ts";
import type { EngineParts } from "./start.ts";

/** How long an adopted turn waits for an IDE to be there, and how long between two looks. A row of docs/dev/turn-machine.md. */
const waitForIdeMs = 60_000;
const lookEveryMs = 1_000;

/**
 * Takes up every turn that an earlier gateway of this home left running, once: at the start, or when a store that failed then works again.
 * Runs until the signal aborts. A turn that cannot be continued does not hold up the others.
 */
export async function adoptLeft(parts: EngineParts, signal: AbortSignal): Promise<void> {
  const { store, owner, running, events } = parts;
  const isLeft = ({ turnId, owner: its }: TurnLabel) =>
    !running.has(turnId) && (its === owner ? store.isUnclear(turnId) : store.isEarlier(its, owner));
  while (!signal.aborted) {
    const recovered = store.untilRecovered(signal);
    void bestEffort(recovered);
    const open = await store.listRunning().catch((error: unknown) => {
      events.emit("turn_problem", { event: "turn_upkeep_failed", turnId: undefined, error });
      return [];
    });
    for (let left = open.filter(isLeft); left.length > 0 && !signal.aborted; ) {
      const again: TurnLabel[] = [];
      for (const turn of left) {
        if (signal.aborted) return;
        try {
          await adoptOne(turn, parts);
        } catch (error) {
          if (isDegraded(error)) again.push(turn);
          events.emit("turn_problem", { event: "turn_adopt_failed", turnId: turn.turnId, error });
        }
      }
      left = again;
      if (left.length > 0) await bestEffort(parts.clock.sleep(lookEveryMs, signal));
    }
    await bestEffort(recovered);
  }
}

async function adoptOne({ turnId }: TurnLabel, parts: EngineParts): Promise<void> {
  const { store, owner, running, readers, events } = parts;
  const claimed = await store.claim(turnId, owner);
  if (claimed === undefined) return; // it has ended since it was listed
  const { runner, cleanUp } = await goOnWith(claimed, parts);
  running.add(claimed.record, runner, cleanUp);
  if (claimed.record.lastEventId === startOfLog) {
    const begun = new AbortController();
    void runner.stored.then(() => begun.abort(notNeeded));
    void readers.expectFromElsewhere(claimed.record, begun.signal);
  }
  events.emit("turn_adopted", claimed.record);
}

/** A turn whose log cannot be trusted ends as failed, because it cannot be continued. A log that cannot be read now stays unchanged. */
async function goOnWith(
  claimed: NonNullable<Awaited<ReturnType<LogStore["claim"]>>>,
  parts: EngineParts,
): Promise<ReturnType<typeof adopt>> {
  try {
    return adopt(claimed.record, claimed.writer, await claimed.readAll(), parts);
  } catch (error) {
    if (isDegraded(error)) throw error;
    await claimed.writer.append([{ type: "failed", error: toMillraceError(error).toRecord() }], parts.clock.now());
    throw error;
  }
}

/**
 * A runner that continues a turn whose process ended. If no prompt was sent yet, it begins once somebody waits for it. Otherwise it asks the
 * backend for the whole answer again and appends what the log lacks. A turn that was cancelled, before it was taken over or
 * while its backend is being found, ends; `cleanUp` then makes the backend stop its work.
 */
function adopt(record: TurnRecord, writer: LogWriter, events: readonly TurnEvent[], parts: EngineParts) {
  const { backends, clock, queue, running } = parts;
  const run = running.optionsOf(record.turnId);
  const started = events.find((event) => event.type === "started");
  const prompt = () => adoptedPrompt(parts, record, started);
  const find = (signal: AbortSignal) =>
    started === undefined ? backends.choose(prompt(), signal) : backends.holding(started, signal);
  /** Whether the backend was asked to continue: it then cleans up itself. */
  let begun = false;
  const open = async (signal: AbortSignal): Promise<Exchange> => {
    const backend = await whenThere(find, clock, signal);
    begun = true;
    const input = { backend, prompt: prompt(), run };
    if (started === undefined) {
      if (parts.recall !== undefined) await bestEffort(parts.recall(record)); // else it is laid out anew
      return newTurnExchange(parts, parts.continuity, record, input).exchange;
    }
    if (backend.kind !== started.backend) throw anotherIde(started.backend, backend.kind);
    // the whole answer again: stages have changed what the log holds, so only they can say where it stands
    const { cascadeId, fromStep, tools, goesOn } = started;
    const place = fromStep === undefined ? {} : { fromStep };
    const way = { ...(tools === undefined ? {} : { tools }), ...(goesOn === undefined ? {} : { goesOn }) };
    const from = { cascadeId, answered, ...place, ...way };
    const conversation = tools === "native" ? adoptedConversation(parts, record) : undefined;
    return exchangeOf(record, { ...input, from }, conversation);
  };
  const answered = events.some((event) => event.type !== "started");
  const stage = started === undefined ? "left" : answered ? "answered" : "asked";
  const enter = (signal: AbortSignal) => queue.enter(record, stage, signal);
  const stages = [...stagesOf(parts, record), reconcile(loggedAnswer(events))];
  const runner = new Runner({ writer, state: stateAfter(events), open, enter, stages, clock });
  if (record.cancelRequested !== undefined) runner.stop({ type: "cancel", by: record.cancelRequested });
  const cleanUp = async () => {
    const cascadeId = started?.cascadeId;
    if (begun || cascadeId === undefined || runner.state !== "cancelled") return;
    const backend = await whenThere(find, clock, never);
    await stopUpstream(backend.resume(prompt(), { cascadeId, text: "", thinking: "" }, run, cancelled));
  };
  return { runner, cleanUp };
}

/** A prompt that waits for results at the end of an adopted turn goes on with the next one. */
function adoptedConversation({ continuity }: EngineParts, asker: TurnRecord): Conversation | undefined {
  const choice = { type: "rebuild", reason: "unknown_history", heldMessages: 0 } as const;
  return continuity && new Conversation({ continuity, asker, choice, continued: undefined });
}

const never = new AbortController().signal;
const cancelled = AbortSignal.abort("cancel" satisfies StopReason);

/** A stream whose signal has aborted before its beginning: the backend cancels and archives, and answers nothing. */
async function stopUpstream(events: AsyncIterable<Batch>): Promise<void> {
  for await (const _event of events) continue;
}

type StartedBody = TurnEventBody & { readonly type: "started" };

/** The prompt as it was laid out for sending: a trajectory with earlier steps got only the messages that it lacked. */
function adoptedPrompt(parts: EngineParts, record: TurnRecord, started: StartedBody | undefined): Prompt {
  const { cascadeId, fromStep = 0 } = started ?? {};
  const continued = cascadeId !== undefined && fromStep > 0 ? continuedPromptOf(parts, record, cascadeId) : undefined;
  const whole = promptOf(parts, record);
  return continued === undefined ? whole : { ...continued, instead: whole };
}

/** The backend of the IDE that runs, once one does. Only finding is repeated: nothing has been sent. */
async function whenThere(
  find: (signal: AbortSignal) => Promise<Backend>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Backend> {
  const giveUpAtMs = clock.monotonic() + waitForIdeMs;
  for (;;) {
    try {
      return await find(signal);
    } catch (error) {
      if (!isWithoutIde(error) || clock.monotonic() >= giveUpAtMs) throw error;
    }
    await clock.sleep(lookEveryMs, signal);
  }
}

function anotherIde(was: BackendKind, is: BackendKind): MillraceError {
  return new MillraceError(
    "upstream_failed",
    `The answer began in an IDE that speaks ${was}; the one that runs now speaks ${is}.`,
    {
      hint: "The part that arrived was kept. Send the request again for a whole answer. If it had an idempotency key, use a new one.",
    },
  );
}
