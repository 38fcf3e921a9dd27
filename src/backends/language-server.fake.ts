import { MillraceError } from "../base/errors.ts";
import type { CascadeId } from "../base/ids.ts";
import type { Capabilities, LanguageServer, RawChat, SendMessage } from "../language-server/language-server.ts";
import { fakeEndpoint } from "../language-server/transport/endpoint.fake.ts";
import type { RawChatMessage } from "../proto/windsurf/exa/chat_pb.ts";
import { FakeTrajectory } from "./trajectory.fake.ts";

type Call = keyof LanguageServer;

/** The server's work in a turn: each poll of the content runs one entry. */
export type Script = ((trajectory: FakeTrajectory) => void)[];

/**
 * A language server in memory. It has panel state, trajectories, archiving and cancelling as the real one does, and counts the
 * messages that it accepted. It plays a script; each poll shows one more entry. `failNext` makes calls fail, before or after they act.
 */
export class FakeLanguageServer implements LanguageServer {
  readonly endpoint = fakeEndpoint(42_100, "grpc", "fake");
  readonly trajectories = new Map<string, FakeTrajectory>();
  readonly accepted: SendMessage[] = [];
  readonly cancelled: string[] = [];
  readonly archived: string[] = [];
  readonly calls: Call[] = [];
  capability: Capabilities = { cascade: true, steps: true, transcript: true, rawChat: false };
  rawMessages: (RawChatMessage | Error)[] = [];
  rawChats: RawChat[] = [];
  /** Streams that are open now. */
  rawOpen = 0;
  /** A stream that has given all its messages stays open until it is closed. */
  rawHolds = false;
  mostPollsAtOnce = 0;
  transcriptLimit = 200_000;
  #script: Script = [];
  #armed = false;
  #polling = 0;
  #panel = false;
  #down = false;
  #nextId = 1;
  #failures: { call: Call; reason: string; afterActing: boolean }[] = [];
  /** Called before each call is served; the call waits for its promise. */
  onCall: (call: Call) => void | Promise<void> = () => {};

  /** Sets the script of the turns that begin from now on. */
  set script(script: Script) {
    this.#script = [...script];
    this.#armed = false;
  }

  /** The next such call fails; `afterActing` lets it do its work first. */
  failNext(call: Call, reason: string, afterActing = false): void {
    this.#failures.push({ call, reason, afterActing });
  }

  /** No call reaches it any more. */
  shutDown(): void {
    this.#down = true;
  }

  losePanelState(): void {
    this.#panel = false;
  }

  ensurePanelState(options: { readonly force: boolean }, signal: AbortSignal): Promise<void> {
    return this.#serve("ensurePanelState", signal, () => {
      if (options.force || !this.#panel) this.#panel = true;
    });
  }

  startCascade(signal: AbortSignal): Promise<CascadeId> {
    return this.#serve("startCascade", signal, () => {
      this.#requirePanel();
      const id = `cascade-${this.#nextId++}` as CascadeId; // a fake may use any ids
      this.trajectories.set(id, new FakeTrajectory());
      return id;
    });
  }

  sendUserMessage(message: SendMessage, signal: AbortSignal): Promise<void> {
    return this.#serve("sendUserMessage", signal, () => {
      this.#requirePanel();
      const trajectory = this.#trajectory(message.cascadeId);
      this.accepted.push(message);
      this.#armed = true;
      trajectory.accept(message.text);
    });
  }

  getSteps(cascadeId: CascadeId, stepOffset: number, signal: AbortSignal) {
    return this.#serve("getSteps", signal, () => {
      const trajectory = this.#play(cascadeId);
      return structuredClone(trajectory.steps.slice(stepOffset));
    });
  }

  getStatus(cascadeId: CascadeId, signal: AbortSignal) {
    return this.#serve("getStatus", signal, () => {
      const { status, steps, executors } = this.#trajectory(cascadeId);
      return { status, totalSteps: steps.length, executors: [...executors] };
    });
  }

  getTranscript(cascadeId: CascadeId, stepOffset: number, signal: AbortSignal) {
    return this.#serve("getTranscript", signal, () => {
      const trajectory = this.#play(cascadeId);
      const transcript = trajectory.transcript(stepOffset, this.transcriptLimit);
      return { transcript, numTotalSteps: trajectory.steps.length };
    });
  }

  getGeneratorMetadata(cascadeId: CascadeId, offset: number, signal: AbortSignal) {
    return this.#serve("getGeneratorMetadata", signal, () => this.#trajectory(cascadeId).generators.slice(offset));
  }

  cancel(cascadeId: CascadeId, signal: AbortSignal): Promise<void> {
    return this.#serve("cancel", signal, () => {
      this.cancelled.push(cascadeId);
      this.#script = [];
      this.#trajectory(cascadeId).stop();
    });
  }

  archive(cascadeId: CascadeId, signal: AbortSignal): Promise<void> {
    return this.#serve("archive", signal, () => {
      this.#trajectory(cascadeId);
      this.archived.push(cascadeId);
    });
  }

  cascadeDenied: boolean | undefined;

  getUserStatus(): Promise<never> {
    return Promise.reject(new MillraceError("internal", "no backend asks for the account"));
  }

  messageLimit(): Promise<never> {
    return Promise.reject(new MillraceError("internal", "no backend asks for limits"));
  }

  ping(signal: AbortSignal): Promise<void> {
    return this.#serve("ping", signal, () => {});
  }

  async *rawChat(chat: RawChat, signal: AbortSignal): AsyncGenerator<RawChatMessage, void> {
    await this.#serve("rawChat", signal, () => this.rawChats.push(chat));
    this.rawOpen++;
    try {
      for (const message of this.rawMessages) {
        signal.throwIfAborted();
        if (message instanceof Error) throw message;
        yield message;
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (this.rawHolds) await untilAborted(signal);
    } finally {
      this.rawOpen--;
    }
  }

  capabilities(signal: AbortSignal): Promise<Capabilities> {
    return this.#serve("capabilities", signal, () => this.capability);
  }

  close(): void {}

  #play(cascadeId: CascadeId): FakeTrajectory {
    const trajectory = this.#trajectory(cascadeId);
    if (this.#armed) this.#script.shift()?.(trajectory);
    return trajectory;
  }

  #trajectory(cascadeId: string): FakeTrajectory {
    const trajectory = this.trajectories.get(cascadeId);
    if (trajectory === undefined) throw failure("cascade_unknown");
    return trajectory;
  }

  #requirePanel(): void {
    if (!this.#panel) throw failure("panel_state_lost");
  }

  async #serve<T>(call: Call, signal: AbortSignal, act: () => T): Promise<T> {
    signal.throwIfAborted();
    this.calls.push(call);
    const polls = call === "getSteps" || call === "getTranscript" || call === "getStatus" ? 1 : 0;
    this.#polling += polls;
    this.mostPollsAtOnce = Math.max(this.mostPollsAtOnce, this.#polling);
    try {
      await this.onCall(call);
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
      if (this.#down) throw failure("connection_refused");
      const planned = this.#failures.findIndex((f) => f.call === call);
      const [failing] = planned < 0 ? [] : this.#failures.splice(planned, 1);
      if (failing?.afterActing === false) throw failure(failing.reason);
      const result = act();
      if (failing !== undefined) throw failure(failing.reason);
      return result;
    } finally {
      this.#polling -= polls;
    }
  }
}

/** An error as the client of a language server throws it. */
export function failure(reason: string): MillraceError {
  const code = reason === "connection_refused" ? "ide_not_running" : "upstream_failed";
  return new MillraceError(code, `The fake server failed: ${reason}.`, { details: { reason } });
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(new MillraceError("cancelled", "The call was cancelled."));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
