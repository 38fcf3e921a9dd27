import type { JsonObject } from "../../../base/json.ts";
import type { AnswerSoFar } from "../../answer-diff.ts";
import { isLockedSession, isUnknownSession, turnFailure } from "../process/errors.ts";
import type { Lease } from "../process/process-pool.ts";
import { launchOf } from "../session/agent-parts.ts";
import type { AgentProcess } from "../session/agent-process.ts";
import { configure } from "../session/configure.ts";
import type { AcpRun } from "../session/held-session.ts";
import type { OpenSession } from "../session/open-session.ts";
import { isWork, UpdateReader } from "../session/updates.ts";
import type { TokenCounts } from "../wire/token-counts.ts";

/** A prompt that may have reached the agent, and the part of its answer that the reader already holds. */
export interface SentPrompt {
  readonly sessionId: string;
  /** User messages of the conversation before this turn. */
  readonly fromStep: number;
  /** How many of them are not in the session, because it took the place of another one. */
  readonly before: number;
  readonly sent: AnswerSoFar;
  /** Something of the answer is there, or a step of the agent's was seen: the prompt certainly arrived. */
  readonly answered: boolean;
  /** How many processes have ended under it in this gateway. */
  readonly deaths: number;
  /** The tokens that a process told of it before it ended. */
  readonly told?: TokenCounts | undefined;
  /** It sent no prompt: it gave results to one that waited. */
  readonly goesOn?: true;
}

/** The turn, as the stored session shows it. */
export type SessionState =
  /** The agent never accepted the prompt; it may be sent, to this session. */
  | { readonly type: "absent"; readonly process: AgentProcess; readonly session: OpenSession }
  | { readonly type: "whole"; readonly turn: ReturnType<typeof readReplay> }
  | { readonly type: "cut"; readonly turn: ReturnType<typeof readReplay> };

const lockedPollMs = 1_000;

/**
 * Opens the session of a begun turn again and finds out what happened to the prompt. A prompt counts as accepted when its user message
 * is in the session. Throws if this cannot be determined or if the session is lost: then nothing is sent. Source:
 * docs/dev/wire/acp.md, "After a crash".
 */
export async function findStoredTurn(turn: AcpRun, begun: SentPrompt): Promise<SessionState> {
  const { parts, prompt, held, signal } = turn;
  if (parts.pool.lastAbilities?.canLoad === false) throw turnFailure(cannotLoadMessage);
  const lease = await parts.pool.lease(launchOf(parts, prompt), signal, true);
  held.hold(lease, undefined);
  const { process } = lease;
  if (!process.abilities.canLoad) throw turnFailure(cannotLoadMessage);
  const loaded = await loadUnlocked(turn, process, begun.sessionId);
  if (loaded === undefined) return await replace(turn, begun, lease);
  const { session, replay } = loaded;
  held.hold(lease, session);
  const replayed = readReplay(replay, begun.fromStep, begun.before);
  session.userMessages = replayed.userMessages;
  if (!replayed.accepted) {
    if (begun.answered) throw turnFailure(vanishedMessage);
    if (replayed.userMessages !== begun.fromStep) throw turnFailure(changedMessage);
    await configure(turn, process, session);
    return { type: "absent", process, session };
  }
  return { type: replayed.reader.hasEnd ? "whole" : "cut", turn: replayed };
}

/** A session that was never stored was never prompted: Devin stores one at its first prompt. A new one takes its place. */
async function replace(
  turn: AcpRun,
  { sessionId, fromStep, answered }: SentPrompt,
  lease: Lease<AgentProcess>,
): Promise<SessionState> {
  const { parts, held, signal } = turn;
  if (parts.spec.vendor !== "devin" || fromStep > 0 || answered) throw turnFailure(vanishedMessage);
  const { process } = lease;
  const session = await process.newSession(signal);
  held.hold(lease, session);
  held.replaced = sessionId;
  await configure(turn, process, session);
  await parts.kept.moved(sessionId, session.id);
  return { type: "absent", process, session };
}

/** The session and its replay; undefined when the agent does not know it. Waits a while for a process that holds it. */
async function loadUnlocked(
  { parts: { clock, lockedMs }, options: { onAlive }, signal }: AcpRun,
  process: AgentProcess,
  sessionId: string,
): Promise<Awaited<ReturnType<AgentProcess["loadSession"]>> | undefined> {
  const untilMs = clock.monotonic() + lockedMs;
  for (;;) {
    try {
      return await process.loadSession(sessionId, signal);
    } catch (error) {
      if (isUnknownSession(error)) return undefined;
      if (!isLockedSession(error)) throw error;
      if (clock.monotonic() >= untilMs) throw turnFailure(lockedMessage, { cause: error });
    }
    onAlive();
    await clock.sleep(lockedPollMs, signal);
  }
}

const cannotLoadMessage =
  "The agent's process ended while this turn ran, and this agent cannot open a session again; the part that arrived was kept, " +
  "and the prompt was not sent again.";
const vanishedMessage =
  "The agent no longer has the session of this turn. The part that arrived was kept, and the prompt was not sent again.";
const changedMessage =
  "Another program changed the session of this turn. The part that arrived was kept, and the prompt was not sent again.";
const lockedMessage =
  "Another process of the agent still has the session of this turn open; the part that arrived was kept, and the prompt was not " +
  "sent again.";

/**
 * Reads the replay of `session/load` for the turn whose user message has the place `fromStep` (0-based); `before` as in `SentPrompt`. Chunks of one user
 * message share its id; where an agent gives no ids, neighbours are one message.
 */
export function readReplay(replay: readonly JsonObject[], fromStep: number, before = 0) {
  const reader = new UpdateReader();
  let userMessages = before;
  let inUserMessage = false;
  let messageId: unknown;
  for (const update of replay) {
    if (update["sessionUpdate"] === "user_message_chunk") {
      const id = update["messageId"];
      if (!inUserMessage || id !== messageId) userMessages++;
      inUserMessage = true;
      messageId = id;
      continue;
    }
    if (isWork(update)) inUserMessage = false;
    if (userMessages !== fromStep + 1) continue;
    if (update["sessionUpdate"] === "agent_stopped") reader.readStopped(update);
    else reader.read(update);
  }
  return { userMessages, accepted: userMessages > fromStep, reader };
}
