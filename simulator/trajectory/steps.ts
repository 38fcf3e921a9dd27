import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ImageData, TextOrScopeItem } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import {
  CortexErrorDetailsSchema,
  CortexStepMetadataSchema,
  type CortexStepPlannerResponse,
  CortexStepPlannerResponseSchema,
  CortexStepSource,
  CortexStepStatus,
  CortexStepType,
  type CortexTrajectoryStep,
  CortexTrajectoryStepSchema,
  MemoryActionType,
} from "../../src/proto/windsurf/exa/cortex_pb.ts";
import { errorTexts } from "../faults/error-texts.ts";
import type { TurnReason } from "../model/engine.ts";

type StepInit = Omit<Exclude<MessageInitShape<typeof CortexTrajectoryStepSchema>, CortexTrajectoryStep>, "metadata">;

/** The context that all steps of one turn share. */
export interface StepContext {
  readonly nowMs: number;
  readonly executionId: string;
  readonly modelUid: string;
  readonly requestedModelUid: string;
}

function step(context: StepContext, source: CortexStepSource, init: StepInit): CortexTrajectoryStep {
  const done = init.status === CortexStepStatus.DONE;
  const now = timestampFromMs(context.nowMs);
  const made = create(CortexTrajectoryStepSchema, init);
  made.metadata = create(CortexStepMetadataSchema, {
    createdAt: now,
    viewableAt: now,
    ...(done ? { finishedGeneratingAt: now, completedAt: now } : {}),
    source,
    executionId: context.executionId,
    ...(source === CortexStepSource.MODEL
      ? { generatorModelUid: context.modelUid, requestedModelUid: context.requestedModelUid }
      : {}),
  });
  return made;
}

export function retrieveMemoryStep(context: StepContext): CortexTrajectoryStep {
  return step(context, CortexStepSource.SYSTEM, {
    type: CortexStepType.RETRIEVE_MEMORY,
    status: CortexStepStatus.DONE,
    step: { case: "retrieveMemory", value: { addUserMemories: true } },
  });
}

export function memoryStep(context: StepContext, memoryId: string): CortexTrajectoryStep {
  return step(context, CortexStepSource.SYSTEM, {
    type: CortexStepType.MEMORY,
    status: CortexStepStatus.DONE,
    step: { case: "memory", value: { memoryId, action: MemoryActionType.CREATE } },
  });
}

export function userInputStep(
  context: StepContext,
  text: string,
  items: TextOrScopeItem[],
  images: ImageData[],
): CortexTrajectoryStep {
  return step(context, CortexStepSource.USER_EXPLICIT, {
    type: CortexStepType.USER_INPUT,
    status: CortexStepStatus.DONE,
    step: { case: "userInput", value: { userResponse: text, items, images } },
  });
}

export function plannerStep(
  context: StepContext,
  messageId: string,
): { step: CortexTrajectoryStep; response: CortexStepPlannerResponse } {
  const response = create(CortexStepPlannerResponseSchema, { messageId: `bot-${messageId}` });
  const made = step(context, CortexStepSource.MODEL, {
    type: CortexStepType.PLANNER_RESPONSE,
    status: CortexStepStatus.GENERATING,
    step: { case: "plannerResponse", value: response },
  });
  return { step: made, response };
}

/** The step that a planner's call of the IDE's own `list_dir` tool makes. */
export function listDirectoryStep(context: StepContext, callId: string, uri: string): CortexTrajectoryStep {
  const made = step(context, CortexStepSource.MODEL, {
    type: CortexStepType.LIST_DIRECTORY,
    status: CortexStepStatus.RUNNING,
    step: {
      case: "listDirectory",
      value: { directoryPathUri: uri, results: [{ name: "README.md", isDir: false, sizeBytes: 1204n }] },
    },
  });
  if (made.metadata !== undefined) made.metadata.toolCall = listDirectoryCall(callId, uri);
  return made;
}

export function listDirectoryCall(callId: string, uri: string) {
  return {
    $typeName: "exa.codeium_common_pb.ChatToolCall" as const,
    id: callId,
    name: "list_dir",
    argumentsJson: JSON.stringify({ DirectoryPath: uri }),
    invalidJsonStr: "",
    invalidJsonErr: "",
  };
}

/** A shell command that waits for the user's permission. */
export function waitingCommandStep(context: StepContext, commandId: string): CortexTrajectoryStep {
  return step(context, CortexStepSource.MODEL, {
    type: CortexStepType.RUN_COMMAND,
    status: CortexStepStatus.WAITING,
    requestedInteraction: { interaction: { case: "runCommand", value: {} } },
    step: {
      case: "runCommand",
      value: { commandLine: "ls -la", proposedCommandLine: "ls -la", cwd: "/", commandId, blocking: true },
    },
  });
}

export function checkpointStep(context: StepContext, index: number, end: number, title: string): CortexTrajectoryStep {
  return step(context, CortexStepSource.SYSTEM, {
    type: CortexStepType.CHECKPOINT,
    status: CortexStepStatus.DONE,
    step: {
      case: "checkpoint",
      value: {
        checkpointIndex: index,
        includedStepIndexEnd: end,
        intentOnly: true,
        conversationTitle: title,
        userIntent: title,
      },
    },
  });
}

export function errorDetails(reason: TurnReason, errorId: string) {
  const isKnown = typeof reason === "string";
  const { text, short, code } = isKnown ? errorTexts(reason) : { ...reason, short: reason.text.slice(0, 60), code: 0 };
  return create(CortexErrorDetailsSchema, {
    userErrorMessage: text,
    shortError: short,
    fullError: isKnown ? `${short}: ${text}` : text,
    errorId,
    errorCode: code,
  });
}

export function errorStep(context: StepContext, error: ReturnType<typeof errorDetails>): CortexTrajectoryStep {
  return step(context, CortexStepSource.SYSTEM, {
    type: CortexStepType.ERROR_MESSAGE,
    status: CortexStepStatus.DONE,
    step: { case: "errorMessage", value: { error, shouldShowUser: true } },
  });
}
