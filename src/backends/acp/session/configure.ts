import { splitEffort } from "../../../base/effort.ts";
import { MillraceError } from "../../../base/errors.ts";
import type { Prompt } from "../../backend.ts";
import type { AcpAgentSpec } from "../known/agent-spec.ts";
import { actsFreely } from "../process/errors.ts";
import type { AcpModel } from "../wire/session-offer.ts";
import { type AgentParts, agentModelId, launchOf } from "./agent-parts.ts";
import type { AgentProcess } from "./agent-process.ts";
import type { Session } from "./session.ts";
import { quietMode } from "./session-options.ts";

/** A session that is about to be prompted. */
interface Configured {
  readonly parts: AgentParts;
  readonly process: AgentProcess;
  readonly session: Session;
  readonly prompt: Prompt;
}

/**
 * Puts a session into the quiet mode and onto the prompt's model. Throws before anything is asked: `unknown_model`, and
 * `model_not_allowed` for an agent that would be free to act.
 */
export async function configure(asked: Configured, signal: AbortSignal): Promise<void> {
  const { parts, process, session, prompt } = asked;
  const { options } = session;
  if (process.abilities.canTitle) await session.set({ title: "Millrace" }, signal); // else some ask a model for a title
  if (parts.spec.allowsActions !== true) await quieten(asked, signal);
  const wish = agentModelId(parts.spec, prompt);
  if (wish === undefined) return;
  const { model } = options;
  const isListed = model?.models.some((known) => known.id === wish) === true;
  const { model: wanted, effort } = isListed ? { model: wish, effort: undefined } : splitEffort(wish);
  await configureModel(asked, wanted, signal);
  const level = options.effort?.values.find(({ value }) => value.toLowerCase() === effort);
  if (options.effort !== undefined && level !== undefined && level.value !== options.effort.current)
    await session.setOption(options.effort.configId, level.value, signal);
}

/** An agent type without tools needs no mode; otherwise the agent must take the mode that it is given. */
async function quieten({ parts, process, session, prompt }: Configured, signal: AbortSignal): Promise<void> {
  const { spec } = parts;
  const { mode } = session.options;
  const { mode: own } = process.own;
  const quiet = own === undefined ? quietMode(session.options) : mode?.ids.find((id) => id.replace(/^.*#/, "") === own); // some agents give an address
  if (mode === undefined || quiet === undefined) {
    if (launchOf(parts, prompt).style === "summarizer") return;
    throw actsFreely(spec.name, mode?.ids ?? []);
  }
  if (quiet === mode.current) return;
  if (mode.configId === undefined) {
    await session.set({ modeId: quiet }, signal);
    return;
  }
  const set = await session.setOption(mode.configId, quiet, signal);
  if (set.mode !== undefined && set.mode.current !== quiet) throw actsFreely(spec.name, [set.mode.current]);
}

async function configureModel(
  { parts, session, prompt }: Configured,
  wanted: string,
  signal: AbortSignal,
): Promise<void> {
  const { model } = session.options;
  if (wanted === model?.current) return;
  if (model === undefined) {
    if (launchOf(parts, prompt).style === "summarizer") return; // its process was started with the model
    throw unknownModel(parts.spec, wanted, []);
  }
  if (!model.models.some((known) => known.id === wanted)) {
    throw unknownModel(parts.spec, wanted, model.models);
  }
  if (model.configId === undefined) await session.set({ modelId: wanted }, signal);
  else await session.setOption(model.configId, wanted, signal);
}

function unknownModel({ name }: AcpAgentSpec, wanted: string, known: readonly AcpModel[]): MillraceError {
  const details = { models: known.slice(0, 20).map(({ id }) => id) };
  return new MillraceError("unknown_model", `The agent "${name}" has no model "${wanted}".`, { details });
}
