import { CortexStepTypeSchema, type CortexTrajectoryStep } from "../../src/proto/windsurf/exa/cortex_pb.ts";

/** How a build's transcripts differ from the plain form. `errorText`: the header under which an error shows its text. */
export interface TranscriptQuirks {
  readonly shuffle: boolean;
  readonly jump: boolean;
  readonly errorText: "tool" | "system" | undefined;
}

const mostCharacters = 200_000;

/**
 * The flat text rendering of steps: blocks `=== MESSAGE <n> - <Role> ===`, numbered by their place in the whole
 * trajectory, cut without a sign at 200,000 characters. Only the text of the user and of the planner is in it; every
 * other step is its type's name in brackets. Source: docs/dev/wire/cascade.md, "Transcript".
 */
export function renderTranscript(
  steps: readonly CortexTrajectoryStep[],
  options: {
    readonly offset: number;
    readonly quirks: TranscriptQuirks;
  },
): string {
  const blocks = steps.slice(options.offset).map((step, i) => {
    const index = options.offset + i;
    const { role, body } = render(step, options.quirks.errorText);
    return `=== MESSAGE ${options.quirks.jump ? index * 3 : index} - ${role} ===\n${body}\n\n`;
  });
  if (options.quirks.shuffle && blocks.length > 2) blocks.splice(1, 0, ...blocks.splice(-2, 1));
  return blocks.join("").slice(0, mostCharacters);
}

function render(step: CortexTrajectoryStep, errorText: TranscriptQuirks["errorText"]): { role: string; body: string } {
  const { case: kind, value } = step.step;
  if (kind === "userInput") return { role: "User", body: value.userResponse };
  if (kind === "plannerResponse") return { role: "Assistant", body: value.modifiedResponse || value.response };
  if (kind === "errorMessage" && errorText !== undefined) {
    const text = value.error?.userErrorMessage ?? "";
    return { role: { tool: "Tool", system: "System" }[errorText], body: `[CORTEX_STEP_TYPE_ERROR_MESSAGE]\n${text}` };
  }
  const type = CortexStepTypeSchema.values.find((one) => one.number === step.type);
  return { role: "Tool", body: `[${type?.name ?? "CORTEX_STEP_TYPE_UNSPECIFIED"}]` };
}
