import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";
import {
  agentOfConversation,
  type Backend,
  type Batch,
  type Prompt,
  type ResumePoint,
  type RunOptions,
} from "../backend.ts";

/** Where conversations are noted, so that housekeeping can archive those that a killed gateway or a dead agent left. */
export interface ConversationJournal {
  note(conversation: { readonly cascadeId: CascadeId; readonly atMs: number; readonly owner: string }): Promise<void>;
  noteArchived(cascadeId: CascadeId): Promise<void>;
  readonly owner: string;
  readonly clock: Pick<Clock, "now">;
}

/** One way in which a prompt can be answered: a backend, and what the route does for it. */
export interface PromptRoute {
  readonly backend: Backend;
  /** The agent whose conversations it can continue; undefined for those of a language server. */
  readonly agent: string | undefined;
  /** Where its conversations are noted: here alone, when they begin and when they are archived. */
  readonly journal?: ConversationJournal | undefined;
  /** It refused the turn with `backend_retired`: before a conversation existed, or in one (`begun`). */
  readonly onRefused?: (error: { readonly details?: unknown }, uid: ModelUid, begun: boolean) => void;
}

/** A way as a backend. */
export function backendOf(route: PromptRoute): Backend {
  const { backend, journal } = route;
  return {
    ...backend,
    run: (prompt, options, signal) => ask(route, { prompt, from: undefined }, options, signal),
    resume: (prompt, from, options, signal) => ask(route, { prompt, from }, options, signal),
    async archive(cascadeId, signal) {
      await backend.archive(cascadeId, signal);
      if (journal !== undefined) await bestEffort(journal.noteArchived(cascadeId));
    },
  };
}

/**
 * Asks a route, for a new prompt or one that was sent before (`from`).
 *
 * - A conversation of another backend is refused before anything is sent: the caller then sends the whole history into a new one.
 *   It happens when an update of the IDE, or a setting, changed the backend meanwhile.
 * - A conversation is noted before its prompt is sent, while `started` is stored, and as archived at every end, unless its turn was detached,
 *   or finished and kept for the next one, or its clean-up left it. A journal that cannot be written fails no turn.
 */
async function* ask(
  route: PromptRoute,
  { prompt, from }: { readonly prompt: Prompt; readonly from: ResumePoint | undefined },
  options: RunOptions,
  signal: AbortSignal,
): AsyncGenerator<Batch, void> {
  const { backend, agent, journal, onRefused } = route;
  if (from === undefined && prompt.continues !== undefined && agentOfConversation(prompt.continues) !== agent) {
    const message = "The conversation was started with another backend, so this one cannot continue it.";
    yield [{ type: "failed", error: new MillraceError("upstream_failed", message).toRecord() }];
    return;
  }
  const known = from?.cascadeId ?? prompt.continues; // noted already
  let cascadeId = known;
  let isBegun = from !== undefined; // else the conversation was neither used nor archived
  let isFinished = false;
  let isLeft = false;
  let noting = Promise.resolve();
  const note = (begun: CascadeId) => {
    if (journal === undefined || begun === known) return;
    cascadeId = begun;
    noting = bestEffort(journal.note({ cascadeId, atMs: journal.clock.now(), owner: journal.owner }));
  };
  const onLeft = (left: CascadeId) => {
    isLeft = true;
    if (cascadeId === undefined) note(left); // its turn was stopped before it could say so
    options.onLeft?.(left);
  };
  const run = { ...options, onLeft };
  try {
    const batches = from === undefined ? backend.run(prompt, run, signal) : backend.resume(prompt, from, run, signal);
    for await (const batch of batches) {
      const refusal = batch.find(isRefusal);
      if (refusal !== undefined) onRefused?.(refusal.error, prompt.modelUid, isBegun);
      for (const event of batch) {
        isFinished ||= event.type === "finished";
        isBegun ||= event.type === "started";
        if (event.type === "started" && event.cascadeId !== undefined) note(event.cascadeId);
      }
      yield batch;
      await noting;
    }
  } finally {
    await noting;
    const isKept = isFinished ? options.keep : signal.reason === "detach";
    if (journal !== undefined && cascadeId !== undefined && isBegun && !isKept && !isLeft)
      await bestEffort(journal.noteArchived(cascadeId));
  }
}

function isRefusal(event: TurnEventBody): event is TurnEventBody & { readonly type: "failed" } {
  return event.type === "failed" && event.error.code === "backend_retired";
}
