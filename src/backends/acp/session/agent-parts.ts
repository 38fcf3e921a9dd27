import type { Clock } from "../../../base/clock.ts";
import type { EventSink } from "../../../base/emitter.ts";
import { MillraceError } from "../../../base/errors.ts";
import type { Prompt } from "../../backend.ts";
import type { BackendLifecycle } from "../../lifecycle.ts";
import type { AgentHosts } from "../host/hosts.ts";
import type { AcpAgentSpec } from "../known/agent-spec.ts";
import { actsForTitles } from "../known/codex.ts";
import { type AgentLaunch, launchFor } from "../known/devin.ts";
import { hasNoTools } from "../known/own-settings.ts";
import { type AgentErrorContext, actsFreely, titlesFreely } from "../process/errors.ts";
import type { ProcessPool } from "../process/process-pool.ts";
import type { AcpModel } from "../wire/session-offer.ts";
import type { AgentProcess } from "./agent-process.ts";
import type { NativeKnowledge } from "./native-knowledge.ts";
import type { OpenSession } from "./open-session.ts";
import type { ParkedPrompts } from "./parked-prompts.ts";
import { promptBlocks, rulesOf } from "./prompt-blocks.ts";
import type { SessionNotes } from "./session-notes.ts";
import { quietMode, splitEffort } from "./session-options.ts";

/** The parts that all turns of one agent share. Times in ms. */
export interface AgentParts {
  readonly spec: AcpAgentSpec;
  readonly clock: Clock;
  readonly pool: ProcessPool<AgentProcess>;
  readonly hosts: AgentHosts | undefined;
  readonly notes: SessionNotes;
  readonly silenceMs: number;
  /** How long a session that another process holds is waited for. */
  readonly lockedMs: number;
  /** Called for each prompt that is sent. */
  readonly onPrompt: () => void;
  readonly events: EventSink<BackendLifecycle> | undefined;
  readonly native: {
    readonly knowledge: NativeKnowledge;
    readonly parked: ParkedPrompts;
  };
}

/** The model's id at the agent: `<agent>/<model>` without the agent; undefined for the agent's own choice. */
export function agentModelId({ name }: AcpAgentSpec, { modelUid }: Pick<Prompt, "modelUid">): string | undefined {
  const id = modelUid.startsWith(`${name}/`) ? modelUid.slice(name.length + 1) : modelUid;
  return id === "" || id === "default" ? undefined : id;
}

export function launchOf({ spec }: AgentParts, prompt: Prompt): AgentLaunch {
  const model = agentModelId(spec, prompt);
  return launchFor(spec, prompt.form, model === undefined ? undefined : splitEffort(model).model);
}

export function errorContext({ spec, clock }: AgentParts): AgentErrorContext {
  return {
    agent: spec.name,
    command: spec.command,
    vendor: spec.vendor,
    nowMs: clock.now(),
    allowsActions: spec.allowsActions === true,
    hasNoTools: hasNoTools(spec),
  };
}

/** The turn that a session is set up for. */
interface TurnSetup {
  readonly parts: AgentParts;
  readonly prompt: Prompt;
  readonly signal: AbortSignal;
}

/**
 * Puts a session into the quiet mode and onto the prompt's model. Throws before anything is asked: `unknown_model`, and
 * `model_not_allowed` for an agent that would be free to act.
 */
export async function configure(turn: TurnSetup, process: AgentProcess, session: OpenSession): Promise<void> {
  const { parts, prompt, signal } = turn;
  const { options, id } = session;
  if (process.abilities.canTitle) await process.setTitle(id, "Millrace", signal); // else some ask a model for a title
  if (parts.spec.allowsActions !== true) await quieten(turn, process, session);
  const asked = agentModelId(parts.spec, prompt);
  if (asked === undefined) return;
  const { model } = options;
  const isListed = model?.models.some((known) => known.id === asked) === true;
  const { model: wanted, effort } = isListed ? { model: asked, effort: undefined } : splitEffort(asked);
  await configureModel(turn, process, session, wanted);
  const level = options.effort?.values.find(({ value }) => value.toLowerCase() === effort);
  if (options.effort !== undefined && level !== undefined && level.value !== options.effort.current)
    await process.setOption(id, options.effort.configId, level.value, signal);
}

/** An agent type without tools needs no mode; otherwise the agent must take the mode that it is given. */
async function quieten(
  { parts, prompt, signal }: TurnSetup,
  process: AgentProcess,
  session: OpenSession,
): Promise<void> {
  const { spec } = parts;
  const { mode } = session.options;
  if (actsForTitles(process.abilities)) throw titlesFreely(spec.name);
  const quiet = quietMode(session.options, process.own.isKnown);
  if (mode === undefined || quiet === undefined) {
    if (launchOf(parts, prompt).style === "summarizer") return;
    throw actsFreely(spec.name, mode?.ids ?? []);
  }
  if (quiet === mode.current) return;
  if (mode.configId === undefined) {
    await process.setMode(session.id, quiet, signal);
    return;
  }
  const set = await process.setOption(session.id, mode.configId, quiet, signal);
  if (set.mode !== undefined && set.mode.current !== quiet) throw actsFreely(spec.name, [set.mode.current]);
}

async function configureModel(
  { parts, prompt, signal }: TurnSetup,
  process: AgentProcess,
  { options, id }: OpenSession,
  wanted: string,
): Promise<void> {
  const { model } = options;
  if (wanted === model?.current) return;
  if (model === undefined) {
    if (launchOf(parts, prompt).style === "summarizer") return; // its process was started with the model
    throw unknownModel(parts.spec, wanted, []);
  }
  if (!model.models.some((known) => known.id === wanted)) {
    throw unknownModel(parts.spec, wanted, model.models);
  }
  await process.setOption(id, model.configId, wanted, signal);
}

function unknownModel({ name }: AcpAgentSpec, wanted: string, known: readonly AcpModel[]): MillraceError {
  const details = { models: known.slice(0, 20).map(({ id }) => id) };
  return new MillraceError("unknown_model", `The agent "${name}" has no model "${wanted}".`, { details });
}

/** The content blocks of a prompt. Throws `invalid_request` for images that the agent does not take. */
export function blocksOf(
  style: AgentLaunch["style"],
  process: AgentProcess,
  session: OpenSession,
  prompt: Prompt,
): object[] {
  if (prompt.images.length > 0 && !process.abilities.takesImages)
    throw new MillraceError("invalid_request", "This agent does not accept images.", {
      hint: "Leave the images out, or ask another model.",
    });
  const told = prompt.continues !== undefined && session.told === rulesOf(prompt);
  const texts = promptBlocks(style, prompt, told).map((text) => ({ type: "text", text }));
  const images = prompt.images.map(({ mimeType, base64 }) => ({ type: "image", mimeType, data: base64 }));
  return [...texts.slice(0, -1), ...images, ...texts.slice(-1)];
}
