/** A model as the agent offers it. */
interface AgentModel {
  readonly id: string;
  readonly name: string;
  readonly family: string;
  /** The price of a prompt. */
  readonly credits: number;
  readonly thinks: boolean;
  readonly context: number;
}

const model = (id: string, name: string, family: string, credits: number, thinks = true, context = 200_000) => ({
  id,
  name,
  family,
  credits,
  thinks,
  context,
});

const paid: readonly AgentModel[] = [
  model("swe-2-medium", "SWE-2 Medium", "SWE-2", 0.5),
  model("swe-2-high", "SWE-2 High", "SWE-2", 1),
  model("swe-2-max", "SWE-2 Max", "SWE-2", 2),
  model("claude-opus-5-medium", "Claude Opus 5 Medium", "Claude Opus 5", 6),
  model("claude-opus-5-high", "Claude Opus 5 High", "Claude Opus 5", 8),
  model("claude-sonnet-5", "Claude Sonnet 5", "Claude Sonnet 5", 2, false),
  model("gpt-5-6-low", "GPT-5.6 Low Thinking", "GPT-5.6", 1, true, 400_000),
  model("gpt-5-6-high", "GPT-5.6 High Thinking", "GPT-5.6", 2, true, 400_000),
  model("fusion-opus-swe", "Fusion (Opus and SWE)", "Fusion", 4),
  model("MODEL_GOOGLE_GEMINI_3_FLASH", "Gemini 3 Flash", "Gemini 3 Flash", 1, false, 1_048_576),
];

const freeModel = model("swe-1-6-slow", "SWE-1.6 Slow", "SWE-1.6", 0, false, 128_000);

/** The models of an account, its default first. A free account has one. */
export function agentModels(free: boolean): readonly AgentModel[] {
  return free ? [freeModel] : [...paid, freeModel];
}

/** Ids that `devin models list` names and ACP refuses. */
const listedOnly: readonly AgentModel[] = [model("adaptive", "Adaptive", "Adaptive", 1)];

/** `devin models list --format json`. */
export function modelList(free: boolean) {
  const families = new Map<string, { model_uid: string; label: string }[]>();
  for (const { id, name, family } of [...agentModels(free), ...listedOnly]) {
    families.set(family, [...(families.get(family) ?? []), { model_uid: id, label: name }]);
  }
  return { families: [...families].map(([name, variants]) => ({ name, variants })) };
}
