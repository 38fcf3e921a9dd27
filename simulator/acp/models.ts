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

const usual = { thinks: true, context: 200_000 };

const paid: readonly AgentModel[] = [
  { ...usual, id: "swe-2-medium", name: "SWE-2 Medium", family: "SWE-2", credits: 0.5 },
  { ...usual, id: "swe-2-high", name: "SWE-2 High", family: "SWE-2", credits: 1 },
  { ...usual, id: "swe-2-max", name: "SWE-2 Max", family: "SWE-2", credits: 2 },
  { ...usual, id: "claude-opus-5-medium", name: "Claude Opus 5 Medium", family: "Claude Opus 5", credits: 6 },
  { ...usual, id: "claude-opus-5-high", name: "Claude Opus 5 High", family: "Claude Opus 5", credits: 8 },
  { ...usual, id: "claude-sonnet-5", name: "Claude Sonnet 5", family: "Claude Sonnet 5", credits: 2, thinks: false },
  { ...usual, id: "gpt-5-6-low", name: "GPT-5.6 Low Thinking", family: "GPT-5.6", credits: 1, context: 400_000 },
  { ...usual, id: "gpt-5-6-high", name: "GPT-5.6 High Thinking", family: "GPT-5.6", credits: 2, context: 400_000 },
  { ...usual, id: "fusion-opus-swe", name: "Fusion (Opus and SWE)", family: "Fusion", credits: 4 },
  {
    ...usual,
    id: "MODEL_GOOGLE_GEMINI_3_FLASH",
    name: "Gemini 3 Flash",
    family: "Gemini 3 Flash",
    credits: 1,
    thinks: false,
    context: 1_048_576,
  },
];

const freeModel = {
  ...usual,
  id: "swe-1-6-slow",
  name: "SWE-1.6 Slow",
  family: "SWE-1.6",
  credits: 0,
  thinks: false,
  context: 128_000,
};

/** The models of an account, its default first. A free account has one. */
export function agentModels(free: boolean): readonly AgentModel[] {
  return free ? [freeModel] : [...paid, freeModel];
}
