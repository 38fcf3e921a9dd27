import type { CascadeId, ModelUid } from "../base/ids.ts";
import type { RawChatMessage } from "../proto/windsurf/exa/chat_pb.ts";
import type { UserStatus } from "../proto/windsurf/exa/codeium_common_pb.ts";
import type {
  CascadeRunStatus,
  CortexStepGeneratorMetadata,
  CortexTrajectoryStep,
  ExecutorMetadata,
} from "../proto/windsurf/exa/cortex_pb.ts";
import type { MessageLimit } from "./message-limit.ts";
import type { Endpoint } from "./transport/endpoint.ts";

export interface SendMessage {
  readonly cascadeId: CascadeId;
  readonly text: string;
  /** Rendered in every planner mode (section 12 of the conversational planner). */
  readonly instructions: string;
  readonly images: readonly { readonly mimeType: string; readonly base64: string }[];
  readonly modelUid: ModelUid;
  readonly modelNumber: number | undefined;
  readonly maxOutputTokens: number | undefined;
}

export interface RawChat {
  readonly instructions: string;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
  readonly modelNumber: number | undefined;
  readonly modelName: string;
}

/**
 * A typed client of one language server. Every call has a deadline and throws `MillraceError`: `upstream_timeout`, `upstream_failed`,
 * `not_signed_in`, `ide_not_running` (connection refused), and for refusals of the server `rate_limited`,
 * `quota_exhausted`, `unknown_model`, `model_not_allowed`, `context_too_long`. `callFailure(error)` returns the kind of the failure
 * beyond its code. Only calls that read are repeated. Source: docs/dev/wire/cascade.md, "Calls"; docs/dev/wire/language-server.md, "Raw chat",
 * "Error texts".
 */
export interface LanguageServer {
  readonly endpoint: Endpoint;
  /** Once per CSRF token, shared by concurrent callers; `force` does it again after the server lost it. */
  ensurePanelState(options: { readonly force: boolean }, signal: AbortSignal): Promise<void>;
  startCascade(signal: AbortSignal): Promise<CascadeId>;
  /**
   * Never repeated: the one call that costs credits. After `panel_state_missing` the panel state is made
   * anew by the next call that needs it.
   */
  sendUserMessage(message: SendMessage, signal: AbortSignal): Promise<void>;
  /** Steps from `stepOffset` (0-based, inclusive) on; earlier ones may have changed since. */
  getSteps(cascadeId: CascadeId, stepOffset: number, signal: AbortSignal): Promise<readonly CortexTrajectoryStep[]>;
  /** Run status, step count and how past executions ended; the steps that come along are dropped. */
  getStatus(cascadeId: CascadeId, signal: AbortSignal): Promise<CascadeStatus>;
  getTranscript(
    cascadeId: CascadeId,
    stepOffset: number,
    signal: AbortSignal,
  ): Promise<{ readonly transcript: string; readonly numTotalSteps: number }>;
  getGeneratorMetadata(
    cascadeId: CascadeId,
    offset: number,
    signal: AbortSignal,
  ): Promise<readonly CortexStepGeneratorMetadata[]>;
  cancel(cascadeId: CascadeId, signal: AbortSignal): Promise<void>;
  archive(cascadeId: CascadeId, signal: AbortSignal): Promise<void>;
  getUserStatus(signal: AbortSignal): Promise<UserStatus>;
  /** Whether the account's plan, as it was read last, keeps it out of Cascade; undefined before it was read. */
  readonly cascadeDenied: boolean | undefined;
  /** Whether the account may ask this model now; undefined where the build does not say. Sends no prompt. */
  messageLimit(modelUid: ModelUid, signal: AbortSignal): Promise<MessageLimit | undefined>;
  /** The cheapest call that proves a server is there and takes the token. */
  ping(signal: AbortSignal): Promise<void>;
  /** The 1.x way: one server stream. An in-band `is_error` is thrown, not yielded. */
  rawChat(chat: RawChat, signal: AbortSignal): AsyncIterable<RawChatMessage>;
  /** The abilities of this build, probed once and remembered. */
  capabilities(signal: AbortSignal): Promise<Capabilities>;
  close(): void;
}

export interface CascadeStatus {
  readonly status: CascadeRunStatus;
  readonly totalSteps: number;
  /** One entry per ended execution of the planner loop, oldest first (`trajectory.executor_metadatas`). */
  readonly executors: readonly ExecutorMetadata[];
}

/** The abilities of a server build; found by probing, kept per build. */
export interface Capabilities {
  readonly cascade: boolean;
  readonly steps: boolean;
  readonly transcript: boolean;
  /** The path is there; a 2.x build has it too and refuses it from outside, so `cascade` goes first. */
  readonly rawChat: boolean;
}
