import type { AnswerSoFar } from "../../answer-diff.ts";
import { isLockedSession, isUnknownSession, turnFailure } from "../process/errors.ts";
import type { AgentProcess } from "../session/agent-process.ts";
import { configure } from "../session/configure.ts";
import type { readReplay } from "../session/replay.ts";
import type { Session } from "../session/session.ts";
import type { TokenCounts } from "../wire/token-counts.ts";
import type { AcpTurn } from "./acp-turn.ts";

/** The prompt of a turn, which may have reached the agent, and the part of its answer that the caller holds already. */
export interface TurnPrompt {
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
  /** The agent's token counts, from a process that ended under it. */
  readonly tokens?: TokenCounts | undefined;
  /** It sent no prompt: it gave results to one that waited. */
  readonly goesOn?: true;
}

/** The turn, as the stored session shows it. `absent`: the agent never accepted the prompt; it may be sent, to this session. */
type StoredTurn =
  | { readonly type: "absent"; readonly session: Session }
  | { readonly type: "whole" | "cut"; readonly turn: ReturnType<typeof readReplay> };

const lockedPollMs = 1_000;

/**
 * Opens the session of a begun turn again and finds out what happened to the prompt. A prompt counts as accepted when its user message
 * is in the session. Throws if this cannot be determined or if the session is lost: then nothing is sent. Source:
 * docs/dev/wire/acp.md, "After a crash".
 */
export async function findStoredTurn(turn: AcpTurn, begun: TurnPrompt): Promise<StoredTurn> {
  const { parts, signal } = turn;
  if (parts.pool.lastAbilities?.canLoad === false) throw turnFailure(cannotLoadMessage);
  const process = await turn.lease(signal, true);
  if (!process.abilities.canLoad) throw turnFailure(cannotLoadMessage);
  const loaded = await loadUnlocked(turn, process, begun);
  if (loaded === undefined) return { type: "absent", session: await replace(turn, begun, process) };
  const { session, replayed } = loaded;
  session.take();
  turn.session = session;
  if (!replayed.accepted) {
    if (begun.answered) throw turnFailure(vanishedMessage);
    if (replayed.userMessages !== begun.fromStep) throw turnFailure(changedMessage);
    await configure(session, turn, signal);
    return { type: "absent", session };
  }
  return { type: replayed.reader.hasEnd ? "whole" : "cut", turn: replayed };
}

/** A session that was never stored was never prompted: Devin stores one at its first prompt. A new one takes its place. */
async function replace(
  turn: AcpTurn,
  { sessionId, fromStep, answered }: TurnPrompt,
  process: AgentProcess,
): Promise<Session> {
  const { parts, signal } = turn;
  if (parts.spec.vendor !== "devin" || fromStep > 0 || answered) throw turnFailure(vanishedMessage);
  const session = await process.newSession(signal);
  turn.replaced = sessionId;
  session.take();
  turn.session = session;
  await configure(session, turn, signal);
  await parts.moved.moved(sessionId, session.id);
  return session;
}

/** The session and its replay; undefined when the agent does not know it. Waits a while for a process that holds it. */
async function loadUnlocked(
  { parts: { clock, lockedMs }, options: { onAlive }, signal }: AcpTurn,
  process: AgentProcess,
  { sessionId, ...place }: TurnPrompt,
): Promise<Awaited<ReturnType<AgentProcess["loadSession"]>> | undefined> {
  const untilMs = clock.monotonic() + lockedMs;
  for (;;) {
    try {
      return await process.loadSession(sessionId, place, signal);
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
