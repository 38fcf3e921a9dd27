import type { ErrorRecord } from "../../../base/errors.ts";
import { waitAfterFirst } from "../../../turns/start/repeats.ts";
import { StreamEncoder } from "../../dialects/idempotent/encode.ts";
import { chainDigest } from "./chain.ts";

/** The encoder of a stream. `unread` lists the request's fields that Millrace does not use, once the model has the prompt. */
export function streamEncoder(state: { readonly unread: readonly string[] }): StreamEncoder {
  return new StreamEncoder({ digest: chainDigest, unread: () => state.unread, told: withSpentStream });
}

/**
 * A failure that ended a stream, with how to go on: each attach to the stream gives this failure again and never a prompt, so "try
 * again" alone sends its reader in a circle.
 */
function withSpentStream(error: ErrorRecord): ErrorRecord {
  const waitS = waitAfterFirst(error);
  const wait = waitS === 0 ? "" : ` after ${waitS} s`;
  const spent = "This stream has failed: its name only gives this failure again.";
  return { ...error, hint: `${error.hint} ${spent} Send the request as a new stream${wait}.` };
}
