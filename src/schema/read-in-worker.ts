import { Worker } from "node:worker_threads";
import { type ErrorRecord, MillraceError } from "../base/errors.ts";
import type { SchemaProblem } from "./read-fields.ts";

/** A schema as bytes: a `FileDescriptorSet`, and the parts that could not be read. */
export interface SerializedSchema {
  readonly set: Uint8Array;
  readonly problems: readonly SchemaProblem[];
}

/** The worker's answer: a schema, or the reason why there is none. */
export type WorkerAnswer = SerializedSchema | { readonly error: ErrorRecord };

/** A young generation that holds most of one statement's garbage; no real build comes near the bound. */
const resourceLimits = { maxYoungGenerationSizeMb: 96, maxOldGenerationSizeMb: 320, stackSizeMb: 4 };

/**
 * Reads a bundle's schema in a separate thread. Answers continue meanwhile, and a bundle that is made to exhaust memory
 * ends only that thread.
 *
 * @throws MillraceError `invalid_request` when the bundle cannot be read; the signal's reason when it aborts.
 */
export function readSchemaInWorker(bundlePath: string, signal: AbortSignal): Promise<SerializedSchema> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const worker = new Worker(new URL(`./schema-worker.${extension}`, import.meta.url), {
      workerData: bundlePath,
      resourceLimits,
      stdout: true,
      stderr: true,
    });
    const onAbort = () => void worker.terminate().then(() => reject(signal.reason as Error)); // as the aborter gave it
    signal.addEventListener("abort", onAbort, { once: true });
    const end = () => signal.removeEventListener("abort", onAbort);
    worker.once("message", (answer: WorkerAnswer) => {
      end();
      if ("error" in answer) reject(MillraceError.fromRecord(answer.error));
      else resolve(answer);
    });
    worker.once("error", (cause: NodeJS.ErrnoException) => {
      end();
      const why = cause.code === "ERR_WORKER_OUT_OF_MEMORY" ? "it needs more than 400 MB" : "reading it failed";
      reject(new MillraceError("invalid_request", `The extension's bundle cannot be read: ${why}.`, { cause }));
    });
    worker.once("exit", () => {
      end();
      reject(new MillraceError("internal", "The thread that reads the extension's bundle ended without an answer."));
    });
  });
}
