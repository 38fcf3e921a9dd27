import type { ModelUid } from "../base/ids.ts";
import type { UpstreamReason } from "../language-server/errors/error-table.ts";
import type { Backend, Batch, Prompt, RunOptions } from "./backend.ts";

export interface Failover {
  /** Called when Cascade reports that it was removed from this build. */
  readonly onRetired: () => void;
  /** Called when Cascade reports that it no longer answers this model. */
  readonly onMoved: (uid: ModelUid) => void;
  /** The backend to ask instead; undefined if there is none. */
  readonly instead: (signal: AbortSignal) => Promise<Backend | undefined>;
}

/**
 * Wraps a Cascade backend. If Cascade turns out to be retired before a conversation exists, the turn goes to another backend: no
 * prompt was sent yet, so none is sent twice. A row of docs/retries.md. Once a conversation exists, the error stays the turn's, and
 * later turns remember it. A refusal before a conversation was about no particular model, so it applies to the build.
 */
export function fallingOver(inner: Backend, { onRetired, onMoved, instead }: Failover): Backend {
  return {
    kind: inner.kind,
    run: (prompt, options, signal) => run(prompt, options, signal),
    resume: (prompt, from, options, signal) => resume(prompt, inner.resume(prompt, from, options, signal)),
    archive: (cascadeId, signal) => inner.archive(cascadeId, signal),
  };

  async function* run(prompt: Prompt, options: RunOptions, signal: AbortSignal): AsyncGenerator<Batch, void> {
    let begun = false;
    for await (const batch of inner.run(prompt, options, signal)) {
      note(batch, prompt, begun);
      if (!begun && refusalIn(batch) !== undefined) {
        const other = await instead(signal);
        if (other !== undefined) {
          yield* other.run(prompt, options, signal);
          return;
        }
      }
      begun = true;
      yield batch;
    }
  }

  async function* resume(prompt: Prompt, batches: AsyncIterable<Batch>): AsyncGenerator<Batch, void> {
    for await (const batch of batches) {
      note(batch, prompt, true);
      yield batch;
    }
  }

  function note(batch: Batch, { modelUid }: Prompt, begun: boolean): void {
    const refusal = refusalIn(batch);
    if (refusal === undefined) return;
    if (begun && refusal === "model_moved") onMoved(modelUid);
    else onRetired();
  }
}

/** The reason in an error's details why Cascade no longer answers; undefined for any other batch. */
function refusalIn(batch: Batch): UpstreamReason | undefined {
  for (const event of batch) {
    if (event.type !== "failed" || event.error.code !== "backend_retired") continue;
    const { reason } = (event.error.details ?? {}) as { readonly reason?: UpstreamReason }; // the language server's own error
    return reason ?? "retired";
  }
  return undefined;
}
