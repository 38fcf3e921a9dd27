import { bestEffort, deadline, timeLimit } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { isMillraceError } from "../../../base/errors.ts";
import { isObject } from "../../../base/json.ts";
import { quotable } from "../../../base/shown-text.ts";
import { spawnChild } from "../host/spawn-child.ts";
import type { AcpAgentSpec, AcpStyle } from "../known/agent-spec.ts";
import { clientNames, plainLaunch, summarizerLaunch } from "../known/devin.ts";
import type { AgentChild, StartChild } from "../wire/agent-child.ts";
import { ProcessLoss, RpcError, type RpcPeer } from "../wire/rpc-peer.ts";
import { greet } from "./connection.ts";
import { prepareLaunch } from "./prepare-launch.ts";

/** An agent's answer to one request, unchanged, or the reason why there is none. */
export type AgentReply =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly why: string; readonly code?: number };

/** The answers of one agent process to requests that cost nothing. */
export interface AgentLook {
  /** The client name that the agent took; undefined where it took none. */
  readonly clientName: string | undefined;
  readonly initialize: AgentReply;
  readonly newSession: AgentReply;
  /** Asked while the new session is open. */
  readonly list: AgentReply;
  /** `session/delete` of the new session. */
  readonly discard: AgentReply;
}

const requestMs = 30_000;
const endGraceMs = 1_000;
const notAsked: AgentReply = { ok: false, why: "it was not asked" };
const noSession = { newSession: notAsked, list: notAsked, discard: notAsked };

/**
 * Starts the agent once, opens a session, lists the sessions, deletes its own, and ends the process. Sends no prompt and no
 * `authenticate`. The answers are raw, because the readers of `AgentProcess` are among what is compared with them. Throws only the
 * signal's reason.
 */
export async function lookAtAgent(
  spec: AcpAgentSpec,
  {
    style,
    clock,
    startChild = spawnChild,
  }: {
    readonly style: AcpStyle;
    readonly clock: Clock;
    /** Starts a process; a real one by default. */
    readonly startChild?: StartChild;
  },
  signal: AbortSignal,
): Promise<AgentLook> {
  let child: AgentChild | undefined;
  try {
    const { cwd, own, environment } = await prepareLaunch(spec, signal);
    const { args } = style === "ask" ? plainLaunch(spec) : summarizerLaunch(spec);
    child = await startChild({ command: spec.command, args: [...args, ...own.args], environment, cwd }, clock);
    const start = { cwd, own, launch: style, settings: "", names: clientNames, clock };
    const { peer, initialized: result, name } = await greet(child, start, signal);
    const place = { cwd, mcpServers: [], ...(own.meta === undefined ? {} : { _meta: own.meta }) };
    return { clientName: name, initialize: { ok: true, result }, ...(await question(peer, place, signal)) };
  } catch (error) {
    signal.throwIfAborted();
    return { clientName: undefined, initialize: refused(error), ...noSession };
  } finally {
    await child?.end(endGraceMs);
  }
}

/** `place`: the parameters of `session/new`. */
async function question(peer: RpcPeer, place: { readonly cwd: string }, signal: AbortSignal) {
  const newSession = await ask(peer, "session/new", place, signal);
  const sessionId = newSession.ok ? repliedSessionId(newSession.result) : undefined;
  try {
    const list = await ask(peer, "session/list", { cwd: place.cwd }, signal);
    const discard = sessionId === undefined ? notAsked : await ask(peer, "session/delete", { sessionId }, signal);
    return { newSession, list, discard: withoutId(discard, sessionId) };
  } catch (error) {
    if (sessionId !== undefined) {
      await bestEffort(peer.request("session/delete", { sessionId }, timeLimit(endGraceMs)));
    }
    throw error;
  }
}

function withoutId(answer: AgentReply, id: string | undefined): AgentReply {
  return answer.ok || id === undefined ? answer : { ...answer, why: answer.why.replaceAll(id, "(session)") };
}

/** The id in a reply to `session/new`, or in an entry of `session/list`. */
export function repliedSessionId(result: unknown): string | undefined {
  const id = isObject(result) ? result["sessionId"] : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
}

async function ask(peer: RpcPeer, method: string, params: object, signal: AbortSignal): Promise<AgentReply> {
  try {
    return { ok: true, result: await peer.request(method, params, deadline(signal, requestMs)) };
  } catch (error) {
    signal.throwIfAborted();
    return refused(error);
  }
}

function refused(error: unknown): AgentReply {
  if (error instanceof RpcError)
    return { ok: false, why: `error ${error.code}: ${quotable(error.message)}`, code: error.code };
  if (error instanceof ProcessLoss) return { ok: false, why: `its process ended (${error.message})` };
  if (isMillraceError(error)) return { ok: false, why: error.message };
  return { ok: false, why: "it did not answer in time" };
}
