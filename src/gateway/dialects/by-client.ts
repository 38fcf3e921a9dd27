import type { ErrorRecord } from "../../base/errors.ts";
import type { WireError } from "./dialect.ts";
import { isToldAgain } from "./retry-headers.ts";

/** A client for which the usual status of a final failure does not end its retries. */
interface Client {
  readonly userAgent: RegExp;
  /** The status on which it stops, in place of any other 4xx. */
  readonly finalStatus: number;
}

/**
 * The clients that need a status of their own. Source: docs/clients.md, "After a failure".
 *
 * Codex repeats a request up to five times after every status but 400, 429 and 503 with `server_is_overloaded`
 * (`codex-rs/codex-api/src/api_bridge.rs`): a 402 cost six requests (measured).
 */
const clients: readonly Client[] = [{ userAgent: /^codex[_-]/i, finalStatus: 400 }];

/** The error with the status on which the client that asks stops. */
export function forClient(wire: WireError, error: ErrorRecord, userAgent: string | null): WireError {
  const isFinal = isToldAgain(error) || error.code === "ide_not_running";
  if (!isFinal || userAgent === null) return wire;
  const client = clients.find((known) => known.userAgent.test(userAgent));
  return client === undefined ? wire : { ...wire, status: client.finalStatus };
}
