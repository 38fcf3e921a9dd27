import { bestEffort, orAborted, within } from "../../../base/async.ts";
import type { NativePrompt, Prompt } from "../../backend.ts";
import type { AgentProcess, OpenSession } from "../process/agent-process.ts";
import { refusesServers } from "../process/own-settings.ts";
import type { AcpTurn } from "../session/held-session.ts";
import { type AgentParts, configure, launchOf } from "../turn-parts.ts";
import type { SessionTools } from "./session-tools.ts";

/** How long an agent may take to ask for the tools of a new session, and for changed ones; ms. */
const listMs = 3_000;

/** The prompt for an agent that has the client's tools as its own. */
export function asNative(prompt: Prompt, { instructions, text }: NativePrompt): Prompt {
  return { ...prompt, instructions, text, form: "text" };
}

/** The prompt that teaches calls in prose. */
export function asProse(prompt: Prompt): Prompt {
  const { native: _native, ...prose } = prompt;
  return prose;
}

/** Whether the agent has these tools in a session whose prompt waits: it is told of other ones, and may list them again. */
export async function takesTools(
  { parts, signal }: AcpTurn,
  process: AgentProcess,
  tools: SessionTools,
  native: NativePrompt,
): Promise<boolean> {
  if (!tools.differFrom(native.tools)) return true;
  const { knowledge } = parts.native;
  const version = versionOf(parts, process);
  if (!knowledge.mayChange(version)) return false;
  tools.offer(native.tools);
  const isListed = tools.listed.then(() => true);
  const takes = (await within(orAborted(isListed, signal), listMs, parts.clock)) === true;
  if (!takes) knowledge.noteUnchanged(version);
  return takes;
}

/** What is known of an agent's tools is known of this. */
export function versionOf({ spec }: AgentParts, { abilities }: AgentProcess): string {
  return `${abilities.name ?? spec.name} ${abilities.version ?? ""}`.trim();
}

export interface NativeStart {
  readonly process: AgentProcess;
  readonly session: OpenSession;
  readonly prompt: Prompt;
}

/**
 * A session whose agent has the tools of the prompt; undefined for an agent that does not take them. Whether it does shows before a
 * prompt is sent: an agent that takes the server asks it for its tools.
 */
export async function beginNatively(turn: AcpTurn, native: NativePrompt): Promise<NativeStart | undefined> {
  const { parts, held, signal } = turn;
  const { knowledge, hub } = parts.native;
  const prompt = asNative(turn.prompt, native);
  const lease = await parts.pool.lease(launchOf(parts, prompt), signal);
  const { process } = lease;
  const version = versionOf(parts, process);
  held.hold(lease, undefined);
  if (refusesServers(parts.spec) || !knowledge.mayOffer(version)) return undefined;
  const session = await process.newSession(signal, hub.offering(native.tools));
  const listed = session.tools?.listed.then(() => true) ?? Promise.resolve(false);
  const isListed = (await within(listed, listMs, parts.clock)) === true;
  if (isListed) {
    await bestEffort(knowledge.note(version, true)); // it is found out again where it cannot be written
    held.hold(lease, session);
    await configure({ ...turn, prompt }, process, session);
    return { process, session, prompt };
  }
  knowledge.noteUnlisted(version);
  await bestEffort(process.discard(session.id, signal));
  return undefined;
}
