import type { Backend, Prompt, RunOptions } from "../../backends/backend.ts";
import { eachAlone, eventsOf } from "../../backends/batches.ts";
import { bestEffort, deadline } from "../../base/async.ts";
import type { CascadeId } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { Asker, Continued, Continuity } from "./continuity.ts";

export interface ContinuingOptions {
  readonly inner: Backend;
  readonly continuity: Continuity;
  readonly asker: Asker;
  readonly choice: Continued;
  /** The prompt for the trajectory that the choice names. */
  readonly continued: Prompt | undefined;
  /** Whether the trajectory holds nothing but what the client sees; asked after the end. */
  readonly isClean: () => boolean;
  /** Told once how the prompt travelled: `reused`, `rebuilt(reason)`. */
  readonly onTravelled: (how: string) => void;
}

const archiveMs = 10_000;

/**
 * A backend that sends a prompt into the trajectory that already holds its history, and keeps the trajectory of every
 * finished answer for the next turn. A trajectory that turns out to be gone or in use before anything was sent is replaced
 * by a fresh one with the whole history.
 */
export function continuingBackend(options: ContinuingOptions): Backend {
  const { inner, continuity, asker, choice, continued, isClean, onTravelled } = options;
  return {
    kind: inner.kind,
    run: (prompt, runOptions, signal) => eachAlone(run(prompt, runOptions, signal)),
    resume: (prompt, from, runOptions, signal) => inner.resume(prompt, from, runOptions, signal),
    archive: (cascadeId, signal) => inner.archive(cascadeId, signal),
  };

  async function* run(
    prompt: Prompt,
    runOptions: RunOptions,
    signal: AbortSignal,
  ): AsyncGenerator<TurnEventBody, void> {
    const kept: RunOptions = { ...runOptions, keep: true };
    if (choice.type === "reuse") {
      const state = { kept: false };
      try {
        if (continued !== undefined) {
          const attempt = eventsOf(inner.run(continued, kept, signal));
          const first = await attempt.next();
          if (first.done !== true && first.value.type === "started") {
            onTravelled("reused");
            yield* followed(first.value, attempt, state);
            return;
          }
          await attempt.return?.(undefined);
          if (signal.aborted) return;
        }
      } finally {
        if (!state.kept) continuity.release(choice.cascadeId);
      }
    }
    onTravelled(`rebuilt(${choice.type === "reuse" ? "trajectory_gone" : choice.reason})`);
    yield* followed(undefined, eventsOf(inner.run(prompt, kept, signal)), { kept: false });
  }

  /** Passes events on; a trajectory that gave a whole answer is kept before its client can know that it ended. */
  async function* followed(
    first: TurnEventBody | undefined,
    rest: AsyncIterator<TurnEventBody>,
    state: { kept: boolean },
  ): AsyncGenerator<TurnEventBody, void> {
    const calls = new Map<string, { readonly callId: string; readonly name: string; readonly arguments: string }>();
    let cascadeId: CascadeId | undefined;
    let spoilt: CascadeId | undefined;
    const note = (event: TurnEventBody) => {
      if (event.type === "started") ({ cascadeId } = event);
      if (event.type === "tool_call") {
        const before = calls.get(event.callId)?.arguments ?? "";
        calls.set(event.callId, { callId: event.callId, name: event.name, arguments: before + event.argumentsDelta });
      }
      if (event.type !== "finished" || cascadeId === undefined) return;
      const whole = event.reason.unified === "stop" || event.reason.unified === "tool_calls";
      state.kept = whole && isClean();
      if (state.kept) continuity.keep(asker, cascadeId, { text: event.text, calls: [...calls.values()] });
      else spoilt = cascadeId;
    };
    try {
      if (first !== undefined) {
        note(first);
        yield first;
      }
      for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
        note(next.value);
        yield next.value;
      }
    } finally {
      await rest.return?.(undefined);
      const cleaning = deadline(new AbortController().signal, archiveMs);
      if (spoilt !== undefined) await bestEffort(inner.archive(spoilt, cleaning));
    }
  }
}
