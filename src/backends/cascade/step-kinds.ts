import { CortexStepStatus, CortexStepType, type CortexTrajectoryStep } from "../../proto/windsurf/exa/cortex_pb.ts";

/** What a step means to a turn. `tool`: the IDE's agent at work. `quiet`: neither text nor effect. */
export type StepKind = "user" | "answer" | "error" | "checkpoint" | "quiet" | "tool";

type StepCase = NonNullable<CortexTrajectoryStep["step"]["case"]>;

const kinds: Readonly<Partial<Record<StepCase, StepKind>>> = {
  userInput: "user",
  plannerResponse: "answer",
  errorMessage: "error",
  checkpoint: "checkpoint",
  dummy: "quiet",
  finish: "quiet",
  planInput: "quiet",
  informPlanner: "quiet",
  memory: "quiet",
  retrieveMemory: "quiet",
  suggestedResponses: "quiet",
  brainUpdate: "quiet",
  todoList: "quiet",
  lintDiff: "quiet",
  lintFixMessage: "quiet",
  clipboard: "quiet",
  artifactSummary: "quiet",
  proposalFeedback: "quiet",
  managerFeedback: "quiet",
  autoCascadeBroadcast: "quiet",
  toolCallProposal: "quiet",
  toolCallChoice: "quiet",
  trajectoryChoice: "quiet",
  supercompleteActiveDoc: "quiet",
  supercompleteFeedback: "quiet",
  supercompleteEphemeralFeedback: "quiet",
  arenaTrajectoryConverge: "quiet",
  relatedFiles: "quiet",
};

/**
 * What a step means, by the member of its oneof (a message's field number, not the type's number, which differs), by its type
 * where it carries no message. Every known one that is not listed is a tool of the agent; one that this schema does not know
 * is quiet, unless it waits for a decision.
 */
export function kindOf(step: CortexTrajectoryStep): StepKind {
  const member = step.step.case;
  if (member !== undefined) return kinds[member] ?? "tool";
  const byType = kindOfTypeName(stepName(step));
  if (byType !== undefined) return byType;
  return step.status === CortexStepStatus.WAITING || step.requestedInteraction !== undefined ? "tool" : "quiet";
}

/** What a step is called, for a person: `RUN_COMMAND`. */
export function stepName(step: CortexTrajectoryStep): string {
  for (const [name, number] of Object.entries(CortexStepType)) {
    if (number === step.type && number !== CortexStepType.UNSPECIFIED) return name;
  }
  return step.step.case ?? `step type ${String(step.type)}`;
}

/** The kind behind a type's name as the transcript writes it, without its prefix; undefined for a name that is not known. */
export function kindOfTypeName(name: string): StepKind | undefined {
  if (name === "UNSPECIFIED" || !(name in CortexStepType)) return undefined;
  return kinds[memberOf(name)] ?? "tool";
}

function memberOf(typeName: string): StepCase {
  if (typeName === "INFORM") return "informPlanner"; // the one whose member is named otherwise
  const camel = typeName.toLowerCase().replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return camel as StepCase; // only looked up: a name that is no member is simply not listed
}
