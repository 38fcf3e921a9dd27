import type { ErrorRecord } from "../../../base/errors.ts";
import { withSpentStream } from "../../../base/spent-stream.ts";
import { waitAfterFirst } from "../../../turns/start/repeats.ts";
import { StreamEncoder } from "../../dialects/idempotent/encode.ts";
import { chainDigest } from "./chain.ts";

/** The encoder of a stream. `unread` lists the request's fields that Millrace does not use, once the model has the prompt. */
export function streamEncoder(state: { readonly unread: readonly string[] }): StreamEncoder {
  return new StreamEncoder({ digest: chainDigest, unread: () => state.unread, told: toldSpent });
}

/** Each attach to the stream gives its failure again and never a prompt, so "try again" alone sends its reader in a circle. */
function toldSpent(error: ErrorRecord): ErrorRecord {
  return { ...error, hint: withSpentStream(error.hint, waitAfterFirst(error)) };
}
