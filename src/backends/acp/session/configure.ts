import type { splitEffort } from "../../../base/effort.ts";
import { MillraceError } from "../../../base/errors.ts";
import type { AcpAgentSpec } from "../known/agent-spec.ts";
import type { Session } from "./session.ts";
import { quietMode } from "./session-options.ts";

/** The model's id at the agent: `<agent>/<model>` without the agent. It may name an effort. */
export type ModelWish = { readonly id: string } & ReturnType<typeof splitEffort>;

/**
 * Puts a session into the quiet mode and onto this model, if it is not the agent's to choose. Throws before anything is asked:
 * `unknown_model`, and `model_not_allowed` for an agent that would be free to act.
 */
export async function configure(
  session: Session,
  { parts: { spec }, wish }: { readonly parts: { readonly spec: AcpAgentSpec }; readonly wish: ModelWish | undefined },
  signal: AbortSignal,
): Promise<void> {
  const { style, abilities } = session.process;
  const { model, effort } = session.options;
  if (abilities.canTitle) await session.set({ title: "Millrace" }, signal); // else some ask a model for a title
  if (spec.allowsActions !== true) await quieten(session, spec.name, signal);
  if (wish === undefined) return;
  const isListed = (id: string) => model?.models.some((known) => known.id === id) === true;
  const wanted = isListed(wish.id) ? wish.id : wish.model;
  if (model === undefined ? style !== "summarizer" : wanted !== model.current && !isListed(wanted)) {
    const details = { models: model?.models.slice(0, 20).map(({ id }) => id) ?? [] };
    throw new MillraceError("unknown_model", `The agent "${spec.name}" has no model "${wanted}".`, { details });
  }
  // the process of a summarizer, which offers no models, was started with this one
  if (model !== undefined && wanted !== model.current) {
    if (model.configId === undefined) await session.set({ modelId: wanted }, signal);
    else await session.setOption(model.configId, wanted, signal);
  }
  const level = effort?.values.find(({ value }) => wanted !== wish.id && value.toLowerCase() === wish.effort)?.value;
  if (effort !== undefined && level !== undefined && level !== effort.current)
    await session.setOption(effort.configId, level, signal);
}

/** An agent type without tools needs no mode; otherwise the agent must take the mode that it is given. */
async function quieten(session: Session, agent: string, signal: AbortSignal): Promise<void> {
  const { own, style } = session.process;
  const { mode } = session.options;
  const quiet =
    own.mode === undefined ? quietMode(session.options) : mode?.ids.find((id) => id.replace(/^.*#/, "") === own.mode); // some agents give an address
  if (mode === undefined || quiet === undefined) {
    if (style === "summarizer") return;
    throw actsFreely(agent, mode?.ids ?? []);
  }
  if (quiet === mode.current) return;
  if (mode.configId === undefined) {
    await session.set({ modeId: quiet }, signal);
    return;
  }
  const set = await session.setOption(mode.configId, quiet, signal);
  if (set.mode !== undefined && set.mode.current !== quiet) throw actsFreely(agent, [set.mode.current]);
}

/** An agent whose session has no mode in which it would ask before it acts. */
function actsFreely(agent: string, modes: readonly string[]): MillraceError {
  const offered = modes.length === 0 ? "it has no modes" : `its modes are ${modes.slice(0, 8).join(", ")}`;
  const message = `Millrace does not use the agent "${agent}": it could act without asking, because ${offered}.`;
  return new MillraceError("model_not_allowed", message, {
    hint: "Use another agent. To let this one act on a model's word, write `allow_actions = true` into its entry in config.toml.",
  });
}
