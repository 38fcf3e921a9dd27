import type { ModelUid } from "../base/ids.ts";
import type { UpstreamReason } from "../language-server/errors/error-table.ts";
import type { Backend, Batch, Prompt, RunOptions } from "./backend.ts";

export interface FallingOver {
  /** Cascade said that it was removed from this build. */
  readonly onRetired: () => void;
  /** Cascade said that it no longer answers this model. */
  readonly onMoved: (uid: ModelUid) => void;
  /** The backend to ask instead; undefined where there is none. */
  readonly instead: (signal: AbortSignal) => Promise<Backend | undefined>;
}

/**
 * A Cascade backend whose turns go to another backend when Cascade turns out to be retired before a conversation exists: then
 * nothing was sent, so nothing is sent twice. A row of docs/retries.md. Later the error stands, and what it says is remembered: a
 * refusal that came before a conversation knew of no model, so it is about the build.
 */
export function fallingOver(inner: Backend, { onRetired, onMoved, instead }: FallingOver): Backend {
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

/** Why Cascade does not answer any more, as the error's details say it; undefined for any other batch. */
function refusalIn(batch: Batch): UpstreamReason | undefined {
  for (const event of batch) {
    if (event.type !== "failed" || event.error.code !== "backend_retired") continue;
    const { reason } = (event.error.details ?? {}) as { readonly reason?: UpstreamReason }; // the language server's own error
    return reason ?? "retired";
  }
  return undefined;
}
