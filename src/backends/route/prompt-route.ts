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
 * - A conversation is noted before its prompt is sent, while `started` is stored. A journal that cannot be written fails no turn.
 */
async function* ask(
  route: PromptRoute,
  { prompt, from }: { readonly prompt: Prompt; readonly from: ResumePoint | undefined },
  options: RunOptions,
  signal: AbortSignal,
): AsyncGenerator<Batch, void> {
  const { backend, agent, onRefused } = route;
  if (from === undefined && prompt.continues !== undefined && agentOfConversation(prompt.continues) !== agent) {
    const message = "The conversation was started with another backend, so this one cannot continue it.";
    yield [{ type: "failed", error: new MillraceError("upstream_failed", message).toRecord() }];
    return;
  }
  const noted = notesOf(route, from?.cascadeId ?? prompt.continues);
  if (from !== undefined) noted.isBegun = true;
  const onLeft = (cascadeId: CascadeId) => {
    noted.left(cascadeId);
    options.onLeft?.(cascadeId);
  };
  const run = { ...options, onLeft };
  let begun = from !== undefined;
  try {
    const batches = from === undefined ? backend.run(prompt, run, signal) : backend.resume(prompt, from, run, signal);
    for await (const batch of batches) {
      const refusal = batch.find(isRefusal);
      if (refusal !== undefined) onRefused?.(refusal.error, prompt.modelUid, begun);
      begun = true;
      for (const event of batch) noted.see(event);
      yield batch;
      await noted.noting;
    }
  } finally {
    await noted.over(options.keep, signal);
  }
}

function isRefusal(event: TurnEventBody): event is TurnEventBody & { readonly type: "failed" } {
  return event.type === "failed" && event.error.code === "backend_retired";
}

/** The notes of one turn's conversation; `known` is noted already. */
function notesOf({ journal }: PromptRoute, known: CascadeId | undefined) {
  let cascadeId = known;
  let finished = false;
  let isLeft = false;
  const note = (begun: CascadeId) => {
    if (journal === undefined || begun === known) return;
    cascadeId = begun;
    notes.noting = bestEffort(journal.note({ cascadeId, atMs: journal.clock.now(), owner: journal.owner }));
  };
  const notes = {
    /** The backend has it: without this it was neither used nor archived. */
    isBegun: false,
    noting: Promise.resolve(),
    see(event: TurnEventBody): void {
      if (event.type === "finished") finished = true;
      if (event.type !== "started") return;
      notes.isBegun = true;
      if (event.cascadeId !== undefined) note(event.cascadeId);
    },
    /** It is still there after the clean-up, also where its turn was stopped before it could say so. */
    left(begun: CascadeId): void {
      isLeft = true;
      if (cascadeId === undefined) note(begun);
    },
    /** A conversation that was begun is archived at every end, unless its turn was detached, or finished and kept for the next one, or it is left. */
    async over(keep: boolean, signal: AbortSignal): Promise<void> {
      await notes.noting;
      const isKept = finished ? keep : signal.reason === "detach";
      if (journal !== undefined && cascadeId !== undefined && notes.isBegun && !isKept && !isLeft)
        await bestEffort(journal.noteArchived(cascadeId));
    },
  };
  return notes;
}
