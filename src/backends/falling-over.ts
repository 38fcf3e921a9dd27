import type { Backend, Batch, Prompt, RunOptions } from "./backend.ts";

export interface FallingOver {
  /** Cascade said that it was removed from this build. */
  readonly onRetired: () => void;
  /** The backend to ask instead; undefined where there is none. */
  readonly instead: (signal: AbortSignal) => Promise<Backend | undefined>;
}

/**
 * A Cascade backend whose turns go to another backend when Cascade turns out to be retired before a conversation exists: then
 * nothing was sent, so nothing is sent twice. A row of docs/retries.md. Later the error stands.
 */
export function fallingOver(inner: Backend, { onRetired, instead }: FallingOver): Backend {
  return {
    kind: inner.kind,
    run: (prompt, options, signal) => run(prompt, options, signal),
    resume: (prompt, from, options, signal) => noting(inner.resume(prompt, from, options, signal)),
    archive: (cascadeId, signal) => inner.archive(cascadeId, signal),
  };

  async function* run(prompt: Prompt, options: RunOptions, signal: AbortSignal): AsyncGenerator<Batch, void> {
    let begun = false;
    for await (const batch of noting(inner.run(prompt, options, signal))) {
      if (!begun && isRetired(batch)) {
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

  async function* noting(batches: AsyncIterable<Batch>): AsyncGenerator<Batch, void> {
    for await (const batch of batches) {
      if (isRetired(batch)) onRetired();
      yield batch;
    }
  }
}

function isRetired(batch: Batch): boolean {
  return batch.some((event) => event.type === "failed" && event.error.code === "backend_retired");
}
