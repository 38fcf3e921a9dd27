import { create } from "@bufbuild/protobuf";
import {
  CascadeRunStatus,
  CortexErrorDetailsSchema,
  type CortexStepGeneratorMetadata,
  CortexStepGeneratorMetadataSchema,
  CortexStepStatus,
  CortexStepType,
  type CortexTrajectoryStep,
  CortexTrajectoryStepSchema,
  type ExecutorMetadata,
  ExecutorMetadataSchema,
  ExecutorTerminationReason,
} from "../proto/windsurf/exa/cortex_pb.ts";

/** A trajectory in memory, made of real step messages, that a test grows by hand. */
export class FakeTrajectory {
  steps: CortexTrajectoryStep[] = [];
  status: CascadeRunStatus = CascadeRunStatus.IDLE;
  executors: ExecutorMetadata[] = [];
  generators: CortexStepGeneratorMetadata[] = [];
  /** The header under which a transcript shows errors with their texts; it shows no text by default. */
  errorRole: string | undefined;
  #messages = 0;

  /** Writes the steps that a server writes when it accepts a message. */
  accept(text: string, images: readonly { readonly mimeType: string; readonly base64Data: string }[] = []): void {
    this.status = CascadeRunStatus.RUNNING;
    this.memory();
    this.add(CortexStepType.USER_INPUT, CortexStepStatus.DONE, {
      case: "userInput",
      value: { userResponse: text, images: [...images] },
    });
  }

  memory(at = this.steps.length): void {
    const step = create(CortexTrajectoryStepSchema, {
      type: CortexStepType.RETRIEVE_MEMORY,
      status: CortexStepStatus.DONE,
      step: { case: "retrieveMemory", value: {} },
    });
    this.steps.splice(at, 0, step);
  }

  /** A step with the type of this name, and the message that belongs to it. */
  read(name: string, status: CortexStepStatus = CortexStepStatus.DONE): void {
    const type = CortexStepType[name as keyof typeof CortexStepType]; // a test names a type that exists
    const member = name.toLowerCase().replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    this.add(type, status, { case: member, value: {} } as StepInit); // so is its member
  }

  /** A step of a type that is not in our schema: its number, and the name that transcripts and calls have for it. */
  unknown(number: number, name: string): void {
    this.steps.push(
      create(CortexTrajectoryStepSchema, {
        type: number as CortexStepType, // an open enum: a newer build has more
        status: CortexStepStatus.DONE,
        metadata: { toolCall: { id: "1", name: name.toLowerCase(), argumentsJson: "{}" } },
      }),
    );
  }

  /** A call of the IDE's own tool in the planner's step. */
  call(name: string): void {
    const call = { id: "1", name, argumentsJson: "{}", invalidJsonStr: "", invalidJsonErr: "" };
    this.planner.response.toolCalls.push({ $typeName: "exa.codeium_common_pb.ChatToolCall", ...call });
  }

  /** A new planner step, open. */
  plan(): void {
    this.add(CortexStepType.PLANNER_RESPONSE, CortexStepStatus.GENERATING, {
      case: "plannerResponse",
      value: { messageId: `bot-${++this.#messages}` },
    });
  }

  get planner() {
    const step = this.steps.findLast((s) => s.step.case === "plannerResponse");
    if (step?.step.case !== "plannerResponse") throw new Error("no planner step yet");
    return { step, response: step.step.value };
  }

  write(text: string): void {
    this.planner.response.response += text;
  }

  think(text: string): void {
    this.planner.response.thinking += text;
  }

  setText(text: string): void {
    this.planner.response.response = text;
  }

  closePlanner(status: CortexStepStatus = CortexStepStatus.DONE): void {
    this.planner.step.status = status;
  }

  /** A whole turn before the one under test. */
  earlierTurn(): void {
    this.accept("before");
    this.plan();
    this.write("earlier turn");
    this.finish();
  }

  checkpoint(): void {
    this.add(CortexStepType.CHECKPOINT, CortexStepStatus.DONE, { case: "checkpoint", value: {} });
  }

  tool(status: CortexStepStatus = CortexStepStatus.RUNNING): void {
    this.add(CortexStepType.RUN_COMMAND, status, { case: "runCommand", value: { commandLine: "ls" } });
  }

  fail(text: string, isBenign = false): void {
    const error = create(CortexErrorDetailsSchema, { userErrorMessage: text, isBenign });
    this.add(CortexStepType.ERROR_MESSAGE, CortexStepStatus.DONE, { case: "errorMessage", value: { error } });
  }

  /** The run is over. Without a reason, no execution is recorded. */
  stop(reason?: ExecutorTerminationReason): void {
    this.status = CascadeRunStatus.IDLE;
    if (reason === undefined) return;
    const lastStepIdx = this.steps.length - 1;
    this.executors.push(create(ExecutorMetadataSchema, { terminationReason: reason, lastStepIdx }));
  }

  /** Everything that ends a good turn. */
  finish(): void {
    this.closePlanner();
    this.checkpoint();
    this.used(1719, 25);
    this.stop(ExecutorTerminationReason.NO_TOOL_CALL);
  }

  used(inputTokens: number, outputTokens: number): void {
    const usage = { inputTokens: BigInt(inputTokens), outputTokens: BigInt(outputTokens) };
    this.generators.push(
      create(CortexStepGeneratorMetadataSchema, {
        stepIndices: [this.steps.findLastIndex((s) => s.step.case === "plannerResponse")],
        metadata: { case: "chatModel", value: { usage, creditCost: 50 } },
      }),
    );
  }

  /** The text of all answers after the last user message. */
  get text(): string {
    return this.steps
      .slice(this.steps.findLastIndex((s) => s.step.case === "userInput") + 1)
      .map((s) => (s.step.case === "plannerResponse" ? s.step.value.response : ""))
      .join("");
  }

  transcript(offset: number, limit = 200_000): string {
    return this.steps
      .slice(offset)
      .map((step, i) => {
        const [role, body] = this.#roleAndBody(step);
        return `=== MESSAGE ${offset + i} - ${role} ===\n${body}\n\n`;
      })
      .join("")
      .slice(0, limit);
  }

  #roleAndBody(step: CortexTrajectoryStep): readonly [string, string] {
    const [role, body] = roleAndBody(step);
    if (step.step.case !== "errorMessage" || this.errorRole === undefined) return [role, body];
    return [this.errorRole, `${body}\n${step.step.value.error?.userErrorMessage ?? ""}`];
  }

  private add(type: CortexStepType, status: CortexStepStatus, step: StepInit): void {
    this.steps.push(create(CortexTrajectoryStepSchema, { type, status, step }));
  }
}

type StepInit = NonNullable<Parameters<typeof create<typeof CortexTrajectoryStepSchema>>[1]>["step"] & object;

const typeNames = new Map<number, string>(Object.entries(CortexStepType).map(([name, number]) => [number, name]));

function roleAndBody(step: CortexTrajectoryStep): [string, string] {
  if (step.step.case === "userInput") return ["User", step.step.value.userResponse];
  if (step.step.case === "plannerResponse") return ["Assistant", step.step.value.response];
  const name = typeNames.get(step.type);
  return ["Tool", `[CORTEX_STEP_TYPE_${name ?? (step.metadata?.toolCall?.name.toUpperCase() || "UNSPECIFIED")}]`];
}
