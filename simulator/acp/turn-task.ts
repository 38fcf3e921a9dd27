import { readDirectives } from "../faults/directives.ts";
import { mergePlans, type TurnPlan } from "../faults/turn-plan.ts";
import { conversationOf, nowOf } from "../model/conversation.ts";
import { helper } from "../model/helper.ts";
import type { Model, ModelPrompt } from "../model/model.ts";
import { upstreamModel } from "../model/upstream.ts";
import type { AgentSettings } from "./desk/desk-protocol.ts";
import type { StoredNode } from "./session-store.ts";
import { type IncomingPrompt, offersSomething } from "./split-prompt.ts";

/** The prompt for the model of a turn, and the plan of the turn. */
export interface TurnTask {
  readonly model: ModelPrompt;
  readonly plan: TurnPlan;
  /** The error for an unknown directive. */
  readonly problem: string | undefined;
}

/** Splits a prompt into the directives of the simulator and the text for the model. */
export function turnTask(
  prompt: IncomingPrompt,
  defaults: TurnPlan,
  history: readonly StoredNode[],
  model: { readonly id: string; readonly name: string; readonly thinks: boolean },
): TurnTask {
  const fromInstructions = readDirectives(prompt.instructions);
  const fromText = readDirectives(nowOf(prompt.text));
  const plan = mergePlans(defaults, fromInstructions.plan, fromText.plan);
  return {
    plan,
    problem: [...fromInstructions.problems, ...fromText.problems][0],
    model: {
      text: prompt.text,
      asked: fromText.text,
      instructions: instructionsInForce(prompt.instructions, history),
      history: history.flatMap(({ role, body, kind }) =>
        kind === "text" && (role === "user" || role === "assistant") ? [{ role, text: body }] : [],
      ),
      images: prompt.images,
      modelUid: model.id,
      modelLabel: model.name,
      thinks: model.thinks,
      maxOutputTokens: 64_000,
      outputLimit: undefined,
      plan,
    },
  };
}

/** A model remembers the content of its session: if a prompt offers no tools, the session's last offer holds. */
function instructionsInForce(instructions: string, history: readonly StoredNode[]): string {
  if (offersSomething(instructions)) return instructions;
  const offer = history.findLast(({ role, kind, body }) => role === "user" && kind === "text" && offersSomething(body));
  return offer === undefined ? instructions : `${offer.body}\n\n${instructions}`;
}

/** The model of the settings. */
export function standInModel({ modelUrl, modelName, modelKey }: AgentSettings): Model {
  return modelUrl === undefined ? helper : upstreamModel(modelUrl, modelName, modelKey);
}

/** A role that summarises its input; a request framed as an execution trace is continued instead. */
export function summarised(task: TurnTask, how: "unframed" | "always"): TurnTask {
  const { model } = task;
  const whole = `${model.instructions}\n${model.text}`;
  if (how === "unframed" && /execution trace/i.test(whole)) return task;
  const asked = conversationOf(model.text).at(-1)?.text ?? model.text;
  const text = `Summary: the user asked ${JSON.stringify(asked.replaceAll(/\s+/g, " ").slice(0, 120))}. No work was done yet.`;
  const plan = { ...task.plan, text };
  return { ...task, plan, model: { ...model, plan } };
}
