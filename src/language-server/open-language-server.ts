import type { Message, MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";
import { bestEffort, deadline } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import { type ErrorCode, MillraceError } from "../base/errors.ts";
import { productToday } from "../base/ide-name.ts";
import type { CascadeId, ModelUid } from "../base/ids.ts";
import type { RetryPolicy } from "../base/retry.ts";
import { SharedCall } from "../base/shared-call.ts";
import type { RawChatMessage } from "../proto/windsurf/exa/chat_pb.ts";
import type { MetadataSchema, UserStatus } from "../proto/windsurf/exa/codeium_common_pb.ts";
import { CortexTrajectorySource, CortexTrajectoryType } from "../proto/windsurf/exa/cortex_pb.ts";
import { Calls, type Deadlines, defaultDeadlines } from "./calls.ts";
import { isCascadeDenied } from "./cascade-access.ts";
import { asRetired, errorFromText, upstreamReason } from "./errors/errors.ts";
import type { Capabilities, CascadeStatus, LanguageServer, RawChat, SendMessage } from "./language-server.ts";
import { askMessageLimit } from "./message-limit.ts";
import { type MachineIdentity, metadataFor, stampRequestId, type WireIds } from "./metadata.ts";
import { lostPanel, PanelState } from "./panel-state.ts";
import { probeCapabilities } from "./probe/capabilities.ts";
import { cascadeConfig, rawChatRequest } from "./requests.ts";
import { openClients, ourSchema, type SpokenSchema } from "./spoken-schema.ts";
import type { Endpoint, IdeIdentity } from "./transport/endpoint.ts";
import type { CheckHolder } from "./transport/open-socket.ts";

export interface LanguageServerOptions {
  readonly clock: Clock;
  /** One for the process: `createWireIds(clock)`. */
  readonly ids: WireIds;
  readonly machine?: MachineIdentity;
  /** 0 (inclusive) to 1 (exclusive). */
  readonly random?: () => number;
  readonly deadlines?: Partial<Deadlines>;
  readonly readMaxBytes?: number;
  /** Asked once for each new connection, before anything is sent over it. */
  readonly checkHolder?: CheckHolder;
  /** The abilities of builds, by `variant@version`; share one map to probe each build once. */
  readonly builds?: Map<string, Capabilities>;
  /**
   * Reads the schema that the server's build speaks, before the first call. Where it cannot be read in time, and by default, our own numbers
   * are used, which are those of every build known so far.
   */
  readonly readSpoken?: (signal: AbortSignal) => Promise<SpokenSchema>;
  /** How long reading may keep the first call waiting, in ms. */
  readonly readSpokenMs?: number;
}

const panelPolicy: RetryPolicy = { attempts: 6, baseMs: 500, capMs: 3_000 };
const unknownMachine: MachineIdentity = { os: "", hardware: "", deviceFingerprint: "" };

/** A client of one server. Nothing is sent until the first call; `close` when done with it. */
export function openLanguageServer(
  endpoint: Endpoint,
  identity: IdeIdentity,
  options: LanguageServerOptions,
): LanguageServer {
  return new RpcLanguageServer(endpoint, identity, options);
}

/** One method for each call of the server. Longer than 300 lines because all share one connection, one schema and one panel state. */
class RpcLanguageServer implements LanguageServer {
  readonly endpoint: Endpoint;
  cascadeDenied: boolean | undefined;
  readonly #identity: IdeIdentity;
  readonly #options: LanguageServerOptions;
  readonly #deadlines: Deadlines;
  readonly #calls: Calls;
  #opened: ReturnType<typeof openClients> | undefined;
  readonly #panel = new PanelState((signal) => this.#initializePanel(signal));
  readonly #probing = new SharedCall<Capabilities>();
  readonly #started = new Set<CascadeId>();
  readonly #missing = new Map<string, unknown>();
  #capabilities: Capabilities | undefined;

  constructor(endpoint: Endpoint, identity: IdeIdentity, options: LanguageServerOptions) {
    this.endpoint = endpoint;
    this.#identity = identity;
    this.#options = options;
    this.#deadlines = { ...defaultDeadlines, ...options.deadlines };
    const secrets = [identity.apiKey, endpoint.csrfToken];
    const { clock, random = Math.random } = options;
    const context = () => ({ nowMs: clock.now(), secrets });
    this.#calls = new Calls(context, { clock, random }, (signal) => this.#learn(signal));
  }

  async #learn(signal: AbortSignal): Promise<void> {
    const { readSpoken = async () => ourSchema, readSpokenMs = 30_000 } = this.#options;
    const spoken = await readSpoken(deadline(signal, readSpokenMs)).catch(() => {
      signal.throwIfAborted(); // all callers have left: the next one reads again
      return ourSchema;
    });
    const stamp = (request: Message) => stampRequestId(request, this.#options.ids);
    this.#opened ??= openClients(this.endpoint, { ...this.#options, stamp }, spoken);
  }

  /** Made before the first call. */
  get #clients(): ReturnType<typeof openClients> {
    if (this.#opened === undefined) throw new TypeError("a call was made before its connection");
    return this.#opened;
  }

  get #client() {
    return this.#clients.client;
  }

  async ensurePanelState({ force }: { readonly force: boolean }, signal: AbortSignal): Promise<void> {
    try {
      await this.#panel.ensure(force, signal);
    } catch (error) {
      throw this.#calls.translate(error, signal); // leaving a shared call throws the signal's reason
    }
  }

  async startCascade(signal: AbortSignal): Promise<CascadeId> {
    this.#mayPrompt();
    try {
      return await this.#startCascade(signal);
    } catch (error) {
      throw asRetired(error, this.#identity.ideVersion);
    }
  }

  async #startCascade(signal: AbortSignal): Promise<CascadeId> {
    await this.ensurePanelState({ force: false }, signal);
    const { cascadeId } = await this.#calls
      .once(
        (call) =>
          this.#client.startCascade(
            {
              metadata: this.#metadata(), // and no base trajectory: never the conversation that the editor shows
              source: CortexTrajectorySource.CASCADE_CLIENT,
              trajectoryType: CortexTrajectoryType.CASCADE,
            },
            call,
          ),
        this.#deadlines.startCascade,
        signal,
      )
      .catch((error: unknown) => {
        if (lostPanel(error)) this.#panel.forget(); // made anew before the next call; this one is not repeated
        throw error;
      });
    if (cascadeId === "") throw refusal("upstream_failed", "The IDE's server started no conversation.");
    const id = cascadeId as CascadeId; // this is where they come from
    this.#started.add(id);
    return id;
  }

  async sendUserMessage(message: SendMessage, signal: AbortSignal): Promise<void> {
    this.#mayPrompt();
    await this.ensurePanelState({ force: false }, signal);
    const request = {
      cascadeId: message.cascadeId,
      items: [{ chunk: { case: "text" as const, value: message.text } }],
      images: message.images.map((image) => ({ base64Data: image.base64, mimeType: image.mimeType })),
      metadata: this.#metadata(),
      cascadeConfig: cascadeConfig(message),
    };
    try {
      await this.#calls.once(
        (call) => this.#client.sendUserCascadeMessage(request, call),
        this.#deadlines.sendUserMessage,
        signal,
      );
    } catch (error) {
      if (lostPanel(error)) this.#panel.forget(); // made anew before the next call; this one is not repeated
      throw error;
    }
  }

  getSteps(cascadeId: CascadeId, stepOffset: number, signal: AbortSignal) {
    return this.#readIfThere(
      "getCascadeTrajectorySteps",
      (call) => this.#client.getCascadeTrajectorySteps({ cascadeId, stepOffset }, call),
      signal,
    ).then(({ steps }) => steps);
  }

  async getStatus(cascadeId: CascadeId, signal: AbortSignal): Promise<CascadeStatus> {
    const answer = await this.#readIfThere(
      "getCascadeTrajectory",
      (call) => this.#clients.statusClient.getCascadeTrajectory({ cascadeId }, call),
      signal,
    );
    return {
      status: answer.status,
      totalSteps: answer.numTotalSteps,
      executors: answer.trajectory?.executorMetadatas ?? [],
    };
  }

  getTranscript(cascadeId: CascadeId, stepOffset: number, signal: AbortSignal) {
    return this.#readIfThere(
      "getCascadeTranscriptForTrajectoryId",
      (call) => this.#client.getCascadeTranscriptForTrajectoryId({ cascadeId, stepOffset }, call),
      signal,
    );
  }

  async getGeneratorMetadata(cascadeId: CascadeId, offset: number, signal: AbortSignal) {
    const answer = await this.#readIfThere(
      "getCascadeTrajectoryGeneratorMetadata",
      (call) =>
        this.#client.getCascadeTrajectoryGeneratorMetadata({ cascadeId, generatorMetadataOffset: offset }, call),
      signal,
    );
    return answer.generatorMetadata;
  }

  async cancel(cascadeId: CascadeId, signal: AbortSignal): Promise<void> {
    await this.#readIfThere(
      "cancelCascadeInvocation",
      (call) => this.#client.cancelCascadeInvocation({ cascadeId }, call),
      signal,
    );
  }

  async archive(cascadeId: CascadeId, signal: AbortSignal): Promise<void> {
    try {
      await this.#readIfThere(
        "archiveCascadeTrajectory",
        (call) => this.#client.archiveCascadeTrajectory({ cascadeId, isArchived: true }, call),
        signal,
      );
    } catch (error) {
      // Older builds cannot archive. A deletion cannot be undone, so only conversations of this client are deleted there.
      if (upstreamReason(error) !== "not_implemented") throw error;
      if (!this.#started.has(cascadeId)) return;
      await this.#readIfThere(
        "deleteCascadeTrajectory",
        (call) => this.#client.deleteCascadeTrajectory({ cascadeId }, call),
        signal,
      );
    }
    this.#started.delete(cascadeId);
  }

  async getUserStatus(signal: AbortSignal): Promise<UserStatus> {
    const answer = await this.#calls.read(
      (call) => this.#client.getUserStatus({ metadata: this.#metadata() }, call),
      this.#deadlines.userStatus,
      signal,
    );
    const status = answer.userStatus;
    if (status === undefined) throw refusal("not_signed_in", "The IDE's server knows no account.");
    if (status.planStatus !== undefined && status.planStatus.planInfo === undefined && answer.planInfo !== undefined) {
      status.planStatus.planInfo = answer.planInfo; // some builds give the plan beside the status
    }
    this.cascadeDenied = isCascadeDenied(status);
    return status;
  }

  async messageLimit(modelUid: ModelUid, signal: AbortSignal) {
    await this.#calls.prepared(signal);
    const request = { metadata: this.#metadata(), modelUid };
    return await askMessageLimit(this.#client, request, (rpc) => this.#calls.read(rpc, this.#deadlines.read, signal));
  }

  async ping(signal: AbortSignal): Promise<void> {
    await this.#calls.once(
      (call) => this.#client.getUnleashData({ metadata: this.#metadata() }, call),
      this.#deadlines.ping,
      signal,
    );
  }

  async *rawChat(chat: RawChat, signal: AbortSignal): AsyncGenerator<RawChatMessage, void> {
    this.#mayPrompt();
    await this.#calls.prepared(signal);
    const { ids, clock } = this.#options;
    const request = rawChatRequest(chat, this.#metadata(), () => ids.newTriggerId(), clock.now());
    const stop = new AbortController();
    const call = { signal: AbortSignal.any([signal, stop.signal]), timeoutMs: this.#deadlines.rawChat };
    try {
      for await (const { deltaMessage } of this.#client.rawGetChatMessage(request, call)) {
        if (deltaMessage === undefined) continue;
        if (deltaMessage.isError) {
          throw errorFromText(deltaMessage.text, {
            nowMs: clock.now(),
            secrets: [this.#identity.apiKey, this.endpoint.csrfToken],
          });
        }
        yield deltaMessage;
      }
    } catch (error) {
      throw this.#calls.translate(error, signal);
    } finally {
      stop.abort();
    }
  }

  async capabilities(signal: AbortSignal): Promise<Capabilities> {
    const { builds } = this.#options;
    const build =
      this.#identity.ideVersion === "" ? undefined : `${this.#identity.variant}@${this.#identity.ideVersion}`;
    const known = this.#capabilities ?? (build === undefined ? undefined : builds?.get(build));
    if (known !== undefined) return known;
    await this.#calls.prepared(signal);
    const probe = {
      ...this.#clients,
      newId: () => this.#options.ids.newTriggerId(),
      read: (rpc: (call: CallOptions) => Promise<unknown>, shared: AbortSignal) =>
        this.#calls.read(rpc, this.#deadlines.read, shared),
    };
    const found = await this.#probing
      .join((shared) => probeCapabilities(probe, shared), signal)
      .catch((error: unknown) => {
        throw this.#calls.translate(error, signal);
      });
    this.#capabilities = found;
    if (build !== undefined) builds?.set(build, found);
    return found;
  }

  close(): void {
    this.#calls.close();
    this.#opened?.close();
  }

  /** A call that not every build has. One that is missing is asked for once, and fails at once from then on. */
  #readIfThere<T>(name: string, rpc: (call: CallOptions) => Promise<T>, signal: AbortSignal): Promise<T> {
    const missing = this.#missing.get(name);
    if (missing !== undefined) return Promise.reject(missing);
    return this.#calls.read(rpc, this.#deadlines.read, signal, (error) => {
      if (upstreamReason(error) === "not_implemented") this.#missing.set(name, error);
    });
  }

  #metadata(): MessageInitShape<typeof MetadataSchema> {
    const { machine, ids, clock } = this.#options;
    return metadataFor(this.#identity, machine ?? unknownMachine, ids, clock);
  }

  #mayPrompt(): void {
    if (this.endpoint.variant !== "antigravity") return;
    throw new MillraceError(
      "invalid_request",
      "Millrace shows Antigravity's limits only. It never sends prompts to its models.",
      {
        hint: `Start ${productToday} and use its models.`,
        details: { reason: "other" },
      },
    );
  }

  /** Until the server has its account: it may still be fetching it, or want to be handed it. A row of docs/dev/turn-machine.md. */
  #initializePanel(signal: AbortSignal): Promise<void> {
    const initialize = async () => {
      await this.#calls.once(
        (call) =>
          this.#client.initializeCascadePanelState({ metadata: this.#metadata(), workspaceTrusted: true }, call),
        this.#deadlines.panelState,
        signal,
      );
    };
    const initializeWithAccount = () =>
      initialize().catch(async (error: unknown) => {
        if (upstreamReason(error) === "account_not_loaded") await bestEffort(this.#pushUserStatus(signal));
        throw error;
      });
    return this.#calls.again(initializeWithAccount, mayPassSoon, panelPolicy, signal);
  }

  async #pushUserStatus(signal: AbortSignal): Promise<void> {
    const userStatus = await this.getUserStatus(signal);
    await this.#calls.once(
      (call) => this.#client.updatePanelStateWithUserStatus({ metadata: this.#metadata(), userStatus }, call),
      this.#deadlines.panelState,
      signal,
    );
  }
}

function refusal(code: ErrorCode, message: string): MillraceError {
  return new MillraceError(code, message, { details: { reason: "other" } });
}

function mayPassSoon(error: unknown): boolean {
  const reason = upstreamReason(error);
  return reason === "account_not_loaded" || reason === "connection_lost" || reason === "unavailable";
}
