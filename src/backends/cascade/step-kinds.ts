import { CortexStepStatus, CortexStepType, type CortexTrajectoryStep } from "../../proto/windsurf/exa/cortex_pb.ts";

/**
 * The meaning of a step for a turn. `quiet` steps carry neither text nor effect. `memory` is quiet before the user's message and
 * an effect after it. `unknown` steps are not in our schema.
 */
export type StepKind =
  | "user"
  | "answer"
  | "error"
  | "checkpoint"
  | "quiet"
  | "memory"
  | "reading"
  | "effect"
  | "unknown";

type StepCase = NonNullable<CortexTrajectoryStep["step"]["case"]>;

/** The words of a text, as types. */
type Words<Text extends string> = Text extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : Text;

function all<const Text extends string>(kind: StepKind, cases: Words<Text> extends StepCase ? Text : never) {
  return cases.split(" ").map((each) => [each, kind] as const);
}

/** Every known step that is missing here is an effect. Source: docs/dev/wire/cascade.md. */
const kinds: ReadonlyMap<string, StepKind> = new Map([
  ...all("user", "userInput"),
  ...all("answer", "plannerResponse"),
  ...all("error", "errorMessage"),
  ...all("checkpoint", "checkpoint"),
  ...all("memory", "memory"),
  ...all(
    "quiet",
    "dummy finish planInput informPlanner retrieveMemory suggestedResponses brainUpdate todoList lintDiff lintFixMessage clipboard artifactSummary proposalFeedback managerFeedback autoCascadeBroadcast toolCallProposal toolCallChoice trajectoryChoice supercompleteActiveDoc supercompleteFeedback supercompleteEphemeralFeedback arenaTrajectoryConverge relatedFiles",
  ),
  ...all(
    "reading",
    "mquery grepSearch grepSearchV2 viewFile listDirectory fileBreakdown viewCodeItem clusterQuery listClusters inspectCluster find searchKnowledgeBase lookupKnowledgeBase readKnowledgeBaseItem readUrlContent viewContentChunk searchWeb commandStatus readDeploymentConfig checkDeployStatus viewFileOutline listResources readResource findAllReferences trajectorySearch readTerminal exploreResponse readNotebook findCodeContext suggestCodemap skill",
  ),
]);

/** Words in the name of a tool that changes something or waits for a person. */
const effectWord =
  /^(?:run|exec|execute|command|terminal|shell|bash|write|edit|create|delete|remove|move|rename|replace|patch|apply|modify|update|upsert|insert|save|upload|install|kill|stop|deploy|commit|push|post|send|mcp\d*|custom|browser|click|navigate|subagent|agent|ask|confirm|approve|propose|exit)$/;

/** Calls of reading tools whose names differ from the names of their steps. */
const readingCalls: ReadonlySet<string> = new Set(["view_terminal"]);

/** The kind of a typed step. A step that waits for a decision is an effect. Source: docs/dev/wire/cascade.md. */
export function stepKind(step: CortexTrajectoryStep): StepKind {
  const kind = kindWhenDone(step);
  return mayWait.has(kind) && waits(step) ? "effect" : kind;
}

function kindWhenDone(step: CortexTrajectoryStep): StepKind {
  // the member decides: its field number differs from the number of the type
  const member = step.step.case;
  if (member !== undefined) return kinds.get(member) ?? "effect";
  const name = stepName(step);
  return isKnown(name) ? kindOfTypeName(name) : kindOfName(step.metadata?.toolCall?.name ?? "");
}

function waits({ status, requestedInteraction }: CortexTrajectoryStep): boolean {
  return (
    status === CortexStepStatus.WAITING || (requestedInteraction !== undefined && status !== CortexStepStatus.DONE)
  );
}

/** Kinds of steps that become an effect when they wait. An answer that waits is judged with its calls. */
const mayWait: ReadonlySet<StepKind> = new Set(["reading", "unknown", "quiet", "memory"]);

const typeNames: ReadonlyMap<number, string> = new Map(
  Object.entries(CortexStepType).map(([name, number]) => [number, name]),
);

/** The name of a step for a person: `RUN_COMMAND`. */
export function stepName({ type, step }: CortexTrajectoryStep): string {
  return (type === CortexStepType.UNSPECIFIED ? undefined : typeNames.get(type)) ?? step.case ?? `STEP_TYPE_${type}`;
}

/** The kind behind a type's name as the transcript writes it, without its prefix. */
export function kindOfTypeName(name: string): StepKind {
  return isKnown(name) ? (kinds.get(memberOf(name)) ?? "effect") : kindOfName(name);
}

/** The kind of a tool that the planner calls by this name: `list_dir`, `run_command`. */
export function kindOfCall(name: string): StepKind {
  if (readingCalls.has(name)) return "reading";
  const typeName = name.toUpperCase();
  return isKnown(typeName) ? kindOfTypeName(typeName) : kindOfName(name);
}

function isKnown(name: string): boolean {
  return name !== "UNSPECIFIED" && name in CortexStepType;
}

/** A name that is not in our schema is unknown, unless one of its words is an effect. */
function kindOfName(name: string): StepKind {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return words.some((word) => effectWord.test(word)) ? "effect" : "unknown";
}

function memberOf(typeName: string): string {
  if (typeName === "INFORM") return "informPlanner"; // the one whose member has another name
  return typeName.toLowerCase().replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
