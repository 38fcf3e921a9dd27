import type { Backend, Backends, Batch, Prompt, ResumePoint, RunOptions } from "../backends/backend.ts";
import type { MillraceError } from "../base/errors.ts";
import type { CascadeId } from "../base/ids.ts";
import { until } from "../base/wait.fake.ts";
import type { BackendKind, TurnEventBody } from "../log/event.ts";

export const fakeCascade = "cascade-1" as CascadeId; // any text will do for the fake

/** One answer that a test feeds event by event, with the runner's requests to it. */
export class FakeAnswer {
  readonly prompt: Prompt;
  readonly resumedFrom: ResumePoint | undefined;
  readonly options: RunOptions;
  /** Whether the event after `started` was asked for, which is when a real backend sends the prompt. */
  promptSent = false;
  /** Called when it becomes so. */
  onPrompt: () => void = () => {};
  /** The reason of the signal that stopped it; undefined until then. */
  stoppedBy: unknown;
  /** Whether it has cleaned up. */
  closed = false;
  endsWithGateway = false;
  readonly #queue: Batch[] = [];
  #ended = false;
  #wake: () => void = () => {};

  constructor(prompt: Prompt, resumedFrom: ResumePoint | undefined, options: RunOptions) {
    this.prompt = prompt;
    this.resumedFrom = resumedFrom;
    this.options = options;
  }

  /** Emits the next events as one batch, as one poll would give them. */
  emit(...bodies: TurnEventBody[]): void {
    this.options.onAlive();
    this.#queue.push(bodies);
    this.#wake();
  }

  text(...deltas: string[]): void {
    this.emit(...deltas.map((delta): TurnEventBody => ({ type: "text", delta })));
  }

  finish(text: string): void {
    this.emit({ type: "finished", reason: { unified: "stop", raw: undefined }, text });
    this.end();
  }

  /** No more events. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *events(kind: BackendKind, signal: AbortSignal): AsyncGenerator<Batch, void> {
    signal.addEventListener("abort", () => this.#wake(), { once: true });
    try {
      if (this.resumedFrom === undefined) {
        const { modelUid } = this.prompt;
        yield [{ type: "started", modelUid, backend: kind, cascadeId: fakeCascade }];
      }
      this.options.onEndsWithGateway?.(this.endsWithGateway);
      this.promptSent = true;
      this.onPrompt();
      while (!signal.aborted) {
        const next = this.#queue.shift();
        if (next !== undefined) yield next;
        else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.stoppedBy = signal.aborted ? signal.reason : undefined;
      this.closed = true;
    }
  }
}

/** A backend whose answers a test writes. */
export class FakeBackend implements Backend, Backends {
  kind: BackendKind = "cascade";
  readonly answers: FakeAnswer[] = [];
  readonly archived: CascadeId[] = [];
  /** Thrown by `choose` and `holding` while set. */
  missing: Error | undefined;
  /** The only event of each answer that begins while it is set: a conversation could not be started. */
  refusal: MillraceError | undefined;
  /** Nothing of its answers is left once the gateway ends. */
  endsWithGateway = false;

  async choose(): Promise<Backend> {
    if (this.missing !== undefined) throw this.missing;
    return this;
  }

  holding(): Promise<Backend> {
    return this.choose();
  }

  run(prompt: Prompt, options: RunOptions, signal: AbortSignal): AsyncIterable<Batch> {
    return this.#answer(new FakeAnswer(prompt, undefined, options), signal);
  }

  resume(prompt: Prompt, from: ResumePoint, options: RunOptions, signal: AbortSignal): AsyncIterable<Batch> {
    return this.#answer(new FakeAnswer(prompt, from, options), signal);
  }

  async archive(cascadeId: CascadeId): Promise<void> {
    this.archived.push(cascadeId);
  }

  /** Those whose prompt was sent. */
  get sent(): readonly FakeAnswer[] {
    return this.answers.filter(({ promptSent }) => promptSent);
  }

  /** The answer that was begun last. */
  get last(): FakeAnswer {
    const answer = this.answers.at(-1);
    if (answer === undefined) throw new Error("no answer was begun");
    return answer;
  }

  /** Waits until an answer was begun, and the newest one has its prompt. */
  async prompted(): Promise<void> {
    await until(() => this.answers.at(-1)?.promptSent === true);
  }

  #answer(answer: FakeAnswer, signal: AbortSignal): AsyncIterable<Batch> {
    this.answers.push(answer);
    answer.endsWithGateway = this.endsWithGateway;
    return this.refusal === undefined ? answer.events(this.kind, signal) : refused(this.refusal);
  }
}

async function* refused(error: MillraceError): AsyncGenerator<Batch, void> {
  yield [{ type: "failed", error: error.toRecord() }];
}
