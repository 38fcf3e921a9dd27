import type { Backend, Backends, Batch, Prompt, RunOptions, StopReason } from "../../backends/backend.ts";
import type { Clock } from "../../base/clock.ts";
import { isWithoutIde, MillraceError } from "../../base/errors.ts";
import type { BackendKind, TurnEventBody } from "../../log/event.ts";
import type { Claimed, TurnRecord } from "../../log/store.ts";
import { stateAfter } from "../run/decide.ts";
import type { Exchange } from "../run/exchange.ts";
import { loggedAnswer, reconcile } from "../run/reconcile.ts";
import { Runner } from "../run/runner.ts";
import { exchangeOf } from "../run/turn-exchange.ts";
import { continuedPromptOf, type Planning, promptOf, stagesOf } from "../run/turn-plan.ts";
import type { TurnQueue } from "../start/turn-queue.ts";

/** How long an adopted turn waits for an IDE to be there, and how long between two looks. A row of docs/retries.md. */
const waitForIdeMs = 60_000;
const lookEveryMs = 1_000;

export interface AdoptOptions {
  readonly backends: Backends;
  readonly planning: Planning;
  readonly clock: Clock;
  readonly run: RunOptions;
  readonly queue: TurnQueue;
}

/**
 * A runner that continues a turn whose process ended. If no prompt was sent yet, it sends the prompt. Otherwise it asks the
 * backend for the whole answer again and appends what the log lacks. A turn that was cancelled, before it was taken over or
 * while its backend is being found, ends; `cleanUp` then makes the backend stop its work.
 */
export async function adopt(
  { record, writer, readAll }: Claimed,
  options: AdoptOptions,
): Promise<{ readonly runner: Runner; readonly cleanUp: () => Promise<void> }> {
  const { backends, planning, clock, queue } = options;
  const events = await readAll();
  const logged = loggedAnswer(events);
  const started = events.find((event) => event.type === "started");
  const prompt = () => adoptedPrompt(planning, record, started);
  const find = (signal: AbortSignal) =>
    started === undefined ? backends.choose(prompt(), signal) : backends.holding(started, signal);
  /** Whether the backend was asked to continue: it then cleans up itself. */
  let begun = false;
  const open = async (signal: AbortSignal): Promise<Exchange> => {
    const backend = await whenThere(find, clock, signal);
    begun = true;
    const asked = { backend, prompt: prompt(), run: options.run };
    if (started === undefined) return queue.gate(record, exchangeOf(planning, record, asked), "left");
    if (backend.kind !== started.backend) throw anotherIde(started.backend, backend.kind);
    // the whole answer again: stages have changed what the log holds, so only they can say where it stands
    const { cascadeId, fromStep } = started;
    const answered = events.some((event) => event.type !== "started");
    const from = { cascadeId, answered, ...(fromStep === undefined ? {} : { fromStep }) };
    return queue.gate(record, exchangeOf(planning, record, { ...asked, from }), answered ? "answered" : "asked");
  };
  const stages = [...stagesOf(planning, record), reconcile(logged)];
  const runner = new Runner({ writer, state: stateAfter(events), open, stages, clock });
  if (record.cancelRequested !== undefined) runner.stop({ type: "cancel", by: record.cancelRequested });
  const cleanUp = async () => {
    const cascadeId = started?.cascadeId;
    if (begun || cascadeId === undefined || runner.state !== "cancelled") return;
    const backend = await whenThere(find, clock, never);
    await stopUpstream(backend.resume(prompt(), { cascadeId, text: "", thinking: "" }, options.run, cancelled));
  };
  return { runner, cleanUp };
}

const never = new AbortController().signal;
const cancelled = AbortSignal.abort("cancel" satisfies StopReason);

/** A stream whose signal has aborted before its beginning: the backend cancels and archives, and answers nothing. */
async function stopUpstream(events: AsyncIterable<Batch>): Promise<void> {
  for await (const _event of events) continue;
}

/** The prompt as it was laid out for sending: a trajectory with earlier steps got only the messages that it lacked. */
function adoptedPrompt(planning: Planning, record: TurnRecord, started: StartedBody | undefined): Prompt {
  const { cascadeId, fromStep = 0 } = started ?? {};
  const continued =
    cascadeId !== undefined && fromStep > 0 ? continuedPromptOf(planning, record, cascadeId) : undefined;
  return continued ?? promptOf(planning, record);
}

type StartedBody = TurnEventBody & { readonly type: "started" };

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
