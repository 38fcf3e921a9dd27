import type { AgentOptions } from "./agent-options.ts";
import { codes, turnError, vendorError } from "./errors.ts";
import { internalError, type JsonRpcError } from "./json-rpc.ts";

/** Who may use the agent of this process. Source: docs/dev/wire/acp.md, "Signing in". */
export interface Access {
  /** Whether a valid key is there, in the environment or stored. Read at each call, because the user may sign in meanwhile. */
  readonly signedIn: () => boolean;
  /** The environment says that the host authenticates: no stored key counts. */
  readonly hostMustAuthenticate: boolean;
}

/** @throws RpcError where this build accepts another client name only. */
export function checkClient({ clientName }: AgentOptions, given: unknown): void {
  if (clientName === undefined || given === clientName) return;
  throw vendorError(codes.auth, `Client ${String(given)} is not allowed`, "auth_required");
}

/** @throws RpcError where no valid key is there; some builds tell that as an internal error. */
export function checkSignedIn({ hostMustAuthenticate, signedIn }: Access, asInternal = false): void {
  if (hostMustAuthenticate) throw vendorError(codes.auth, "ACP host has not authenticated", "auth_required");
  if (signedIn()) return;
  if (asInternal) throw vendorError(internalError, "Internal error: not logged in", "internal");
  throw turnError("no_key", "Authentication required");
}

export function noSession(sessionId: string): JsonRpcError {
  return vendorError(codes.noSession, `Session not found: ${sessionId}`, "session_not_found");
}

export function locked(sessionId: string): JsonRpcError {
  return vendorError(codes.locked, `Session is locked by another process: ${sessionId}`, "session_locked", true);
}
