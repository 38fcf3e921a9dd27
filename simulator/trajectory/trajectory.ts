import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { CascadeId } from "../../src/base/ids.ts";
import {
  CascadeRunStatus,
  type CascadeTrajectorySummary,
  CascadeTrajectorySummarySchema,
  type CortexStepGeneratorMetadata,
  type CortexTrajectory,
  CortexTrajectorySchema,
  type CortexTrajectorySource,
  type CortexTrajectoryStep,
  type CortexTrajectoryType,
  type ExecutorMetadata,
  type QueuedMessage,
} from "../../src/proto/windsurf/exa/cortex_pb.ts";
import type { TranscriptQuirks } from "./transcript.ts";

/** One conversation and the record of its steps, as the server keeps it. Steps change in place while a turn runs. */
export class Trajectory {
  readonly cascadeId: CascadeId;
  readonly trajectoryId: string;
  readonly createdAtMs: number;
  readonly source: CortexTrajectorySource;
  readonly type: CortexTrajectoryType;
  readonly workspaceUri: string;
  steps: CortexTrajectoryStep[] = [];
  generatorMetadata: CortexStepGeneratorMetadata[] = [];
  executorMetadatas: ExecutorMetadata[] = [];
  queue: QueuedMessage[] = [];
  status: CascadeRunStatus = CascadeRunStatus.IDLE;
  /** Polls that still see IDLE although the turn runs. */
  idleFlickers = 0;
  archived = false;
  title = "";
  lastModelUid = "";
  lastInputAtMs = 0;
  modifiedAtMs: number;
  /** How the transcript of this conversation misbehaves. */
  transcriptQuirks: TranscriptQuirks = { shuffle: false, jump: false, errorText: undefined };

  constructor(birth: {
    readonly cascadeId: CascadeId;
    readonly trajectoryId: string;
    readonly createdAtMs: number;
    readonly source: CortexTrajectorySource;
    readonly type: CortexTrajectoryType;
    readonly workspaceUri: string;
  }) {
    this.cascadeId = birth.cascadeId;
    this.trajectoryId = birth.trajectoryId;
    this.createdAtMs = birth.createdAtMs;
    this.modifiedAtMs = birth.createdAtMs;
    this.source = birth.source;
    this.type = birth.type;
    this.workspaceUri = birth.workspaceUri;
  }

  /** The status as one poll sees it: idle for a moment after the send. Source: docs/dev/wire/cascade.md, "Time line of a turn". */
  polledStatus(): CascadeRunStatus {
    if (this.status === CascadeRunStatus.RUNNING && this.idleFlickers > 0) {
      this.idleFlickers--;
      return CascadeRunStatus.IDLE;
    }
    return this.status;
  }

  toMessage(): CortexTrajectory {
    return create(CortexTrajectorySchema, {
      trajectoryId: this.trajectoryId,
      cascadeId: this.cascadeId,
      steps: this.steps,
      generatorMetadata: this.generatorMetadata,
      executorMetadatas: this.executorMetadatas,
      trajectoryType: this.type,
      source: this.source,
      messageQueue: this.queue,
      metadata: {
        workspaces: [{ workspaceFolderAbsoluteUri: this.workspaceUri }],
        createdAt: timestampFromMs(this.createdAtMs),
      },
    });
  }

  toSummary(): CascadeTrajectorySummary {
    return create(CascadeTrajectorySummarySchema, {
      summary: this.title,
      stepCount: this.steps.length,
      createdTime: timestampFromMs(this.createdAtMs),
      lastModifiedTime: timestampFromMs(this.modifiedAtMs),
      trajectoryId: this.trajectoryId,
      status: this.status,
      workspaces: [{ workspaceFolderAbsoluteUri: this.workspaceUri }],
      ...(this.lastInputAtMs === 0 ? {} : { lastUserInputTime: timestampFromMs(this.lastInputAtMs) }),
      errored: this.steps.at(-1)?.step.case === "errorMessage",
      queueSize: this.queue.length,
      trajectoryType: this.type,
      trajectorySource: this.source,
      ...(this.lastModelUid === "" ? {} : { lastGeneratorModelUid: this.lastModelUid }),
      isArchived: this.archived,
    });
  }
}
