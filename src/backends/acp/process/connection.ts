import { deadline } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import type { OwnSettings } from "../known/own-settings.ts";
import type { AgentChild } from "../wire/agent-child.ts";
import { PipePeer, RpcError } from "../wire/rpc-peer.ts";
import { SessionRouter } from "./session-router.ts";

/** How long an agent may take to answer `initialize`; ms. */
const startMs = 60_000;

/** Where and how a process was started. */
export interface Start {
  readonly cwd: string;
  /** The settings that it was started with. */
  readonly own: OwnSettings;
  /** As `KeptProcess` has them. */
  readonly launch: string;
  readonly settings: string;
}

/** An agent's process past its `initialize`, and the requests and messages of its pipe. */
export interface Connection extends Start {
  readonly child: AgentChild;
  readonly peer: PipePeer;
  readonly router: SessionRouter;
  /** The reply to `initialize`. */
  readonly initialized: unknown;
  /** From its start to its answer to `initialize`; unknown for a process that an earlier gateway started. */
  readonly startupMs: number | undefined;
}

/**
 * Greets a process that was just started. Tries each client name in turn while the agent refuses the one before. Throws
 * `RpcError`, `ProcessLoss`, a `TimeoutError` after 60 s, or the signal's reason.
 */
export async function greet(
  child: AgentChild,
  { names, clock, ...start }: Start & { readonly names: readonly string[]; readonly clock: Clock },
  signal: AbortSignal,
): Promise<Connection & { readonly name: string }> {
  const begunMs = clock.monotonic();
  const router = new SessionRouter();
  const peer = new PipePeer(child, router);
  const answer = await initialize(peer, names, deadline(signal, startMs));
  return { ...start, child, peer, router, ...answer, startupMs: clock.monotonic() - begunMs };
}

/** Goes on with a process that an earlier gateway greeted. */
export function takeOver(child: AgentChild, start: Start, initialized: unknown): Connection {
  const router = new SessionRouter();
  return { ...start, child, router, peer: new PipePeer(child, router), initialized, startupMs: undefined };
}

/** Offers the agent nothing. Answers which name it took. */
async function initialize(peer: PipePeer, [name = "", ...others]: readonly string[], signal: AbortSignal) {
  const clientInfo = { name, title: "Millrace", version: "1" };
  try {
    const asked = { protocolVersion: 1, clientCapabilities: {}, clientInfo };
    return { name, initialized: await peer.request("initialize", asked, signal) };
  } catch (error) {
    if (!(error instanceof RpcError) || others.length === 0) throw error;
    return await initialize(peer, others, signal);
  }
}
