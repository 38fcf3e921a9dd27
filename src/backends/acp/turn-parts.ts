import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import type { Prompt } from "../backend.ts";
import type { AgentErrorContext } from "./errors.ts";
import type { AgentProcess, OpenSession } from "./process/agent-process.ts";
import type { AcpAgentSpec, AcpModel } from "./process/agent-spec.ts";
import type { ProcessPool } from "./process/process-pool.ts";
import { splitEffort } from "./session/efforts.ts";
import type { SessionNotes } from "./session/session-notes.ts";
import { quietMode } from "./session/session-options.ts";
import { type AgentLaunch, launchFor, promptBlocks } from "./style.ts";

/** The parts that all turns of one agent share. Times in ms. */
export interface AgentParts {
  readonly spec: AcpAgentSpec;
  readonly clock: Clock;
  readonly pool: ProcessPool;
  readonly notes: SessionNotes;
  readonly silenceMs: number;
  /** How long a session that another process holds is waited for. */
  readonly lockedMs: number;
  /** Called for each prompt that is sent. */
  readonly onPrompt: () => void;
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
  return { agent: spec.name, vendor: spec.vendor, nowMs: clock.now() };
}

/** The turn that a session is set up for. */
interface Configured {
  readonly parts: AgentParts;
  readonly prompt: Prompt;
  readonly signal: AbortSignal;
}

/** Puts a session into the quiet mode and onto the prompt's model. Throws `unknown_model` before anything is asked. */
export async function configure(turn: Configured, process: AgentProcess, session: OpenSession): Promise<void> {
  const { parts, prompt, signal } = turn;
  const { options, id } = session;
  const mode = quietMode(options);
  if (mode !== undefined) {
    const configId = options.mode?.configId;
    if (configId === undefined) await process.setMode(id, mode, signal);
    else await process.setOption(id, configId, mode, signal);
  }
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

async function configureModel(
  { parts, prompt, signal }: Configured,
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
  const told = prompt.continues !== undefined && session.told === prompt.instructions;
  const texts = promptBlocks(style, prompt, told).map((text) => ({ type: "text", text }));
  const images = prompt.images.map(({ mimeType, base64 }) => ({ type: "image", mimeType, data: base64 }));
  return [...texts.slice(0, -1), ...images, ...texts.slice(-1)];
}
