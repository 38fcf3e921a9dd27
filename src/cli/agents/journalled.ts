import type { Backend, Batch, RunOptions } from "../../backends/backend.ts";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { CascadeId } from "../../base/ids.ts";
import type { CascadeJournal } from "../../ide/cascades/cascade-journal.ts";

/**
 * Notes every new conversation of the backend in the journal before its prompt is sent, and again once it is archived. The turn is
 * stored meanwhile. So housekeeping can archive conversations that a killed gateway or a dead agent left. A journal that cannot be
 * written fails no turn.
 */
export function journalled(
  inner: Backend,
  journal: CascadeJournal,
  { owner, clock }: { readonly owner: string; readonly clock: Clock },
): Backend {
  const archived = (cascadeId: CascadeId) => bestEffort(journal.noteArchived(cascadeId));

  /**
   * A conversation is archived at every end, unless the turn was detached, or finished and kept for the next one, or its agent
   * did not discard it.
   */
  async function* noted(
    start: (options: RunOptions) => AsyncIterable<Batch>,
    known: CascadeId | undefined,
    options: RunOptions,
    signal: AbortSignal,
  ): AsyncGenerator<Batch, void> {
    let cascadeId = known;
    let finished = false;
    let isLeft = false;
    const onLeft = () => {
      isLeft = true;
      options.onLeft?.();
    };
    let noting = Promise.resolve();
    try {
      for await (const batch of start({ ...options, onLeft })) {
        for (const event of batch) {
          if (event.type === "finished") finished = true;
          const begun = event.type === "started" ? event.cascadeId : undefined;
          if (begun === undefined || begun === known) continue;
          cascadeId = begun;
          noting = bestEffort(journal.note({ cascadeId: begun, atMs: clock.now(), owner }));
        }
        yield batch;
        await noting;
      }
    } finally {
      await noting;
      const isKept = finished ? options.keep : signal.reason === "detach";
      if (cascadeId !== undefined && !isKept && !isLeft) await archived(cascadeId);
    }
  }

  return {
    kind: inner.kind,
    run: (prompt, options, signal) =>
      noted((noting) => inner.run(prompt, noting, signal), prompt.continues, options, signal),
    resume: (prompt, from, options, signal) =>
      noted((noting) => inner.resume(prompt, from, noting, signal), from.cascadeId, options, signal),
    async archive(cascadeId, signal) {
      await inner.archive(cascadeId, signal);
      await archived(cascadeId);
    },
  };
}
