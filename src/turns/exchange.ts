import type { Backend, Batch, Prompt, ResumePoint, RunOptions, StopReason } from "../backends/backend.ts";
import { bestEffort, deadline } from "../base/async.ts";
import { type ErrorRecord, toMillraceError } from "../base/errors.ts";
import type { CascadeId } from "../base/ids.ts";
import { ownTurn } from "../base/node/unhurried.ts";
import { piecesOf } from "../base/pieces.ts";
import type { TerminalEvent } from "../log/event.ts";
import { type Conversation, isContinued } from "./continuity/conversation.ts";
import { PlainAnswer, through } from "./event-stage.ts";
import type { AnswerPlan } from "./tools/answer-plan.ts";
import { type AnswerVerdict, type ArrivedAnswer, judge } from "./tools/judge.ts";
import { PlannedAnswer } from "./tools/planned-answer.ts";

export interface ExchangeOptions {
  readonly backend: Backend;
  readonly prompt: Prompt;
  readonly run: RunOptions;
  /**
   * For a turn that another process began: where its log stands; how far its text went does not matter. Its whole answer is read again, and
   * it is never asked twice.
   */
  readonly from?: Omit<ResumePoint, "text" | "thinking"> | undefined;
  /** How the answer is read; without a plan it passes unchanged. */
  readonly plan?: AnswerPlan | undefined;
  /** The conversation that the turn continues or begins; every prompt goes into a fresh trajectory without one. */
  readonly conversation?: Conversation | undefined;
  /** Adds to the end of the answer what is known of it elsewhere. Never rejects. */
  readonly complete?: ((end: TerminalEvent) => Promise<TerminalEvent>) | undefined;
}

/** Stores a batch. `ended`: the log has the turn's end. `stopped`: the turn wants nothing more, and this batch may not be in the log. */
export type Deliver = (batch: Batch) => Promise<"goes_on" | "ended" | "stopped">;

/** Asks the backend and delivers each batch once the one before is stored. Throws only the errors of a backend with a bug. */
export type Exchange = (deliver: Deliver, signal: AbortSignal) => Promise<void>;

const archiveMs = 10_000;
/** The longest text that is read for calls at once, in UTF-16 units: some tens of ms where each character may begin a call. */
const readAtOnce = 32_768;

/**
 * Talks with a backend for one turn. The prompt goes into the trajectory that holds the turn's history, else into a fresh one. If
 * `judge` asks for it, one more prompt follows the answer. A trajectory that is not kept is archived before the terminal event: a turn
 * whose log has that event is never resumed, not even after a crash. An agent's session is deleted after it: until the end is stored, the
 * session is the only evidence of the answer.
 */
export function exchange(options: ExchangeOptions): Exchange {
  return async (deliver, signal) => {
    const dialogue = new Dialogue(options, deliver, signal);
    try {
      await dialogue.run();
    } finally {
      await dialogue.close();
    }
  };
}

/** One turn's prompts and answers. */
class Dialogue {
  readonly #options: ExchangeOptions;
  readonly #deliver: Deliver;
  readonly #signal: AbortSignal;
  readonly #run: RunOptions;
  #cascadeId: CascadeId | undefined;
  /** The backend left the trajectory of a finished answer open: it is kept or archived here. */
  #isLeft = false;
  /** The trajectory holds an exchange that the client never sees. */
  #isAskedTwice = false;

  constructor(options: ExchangeOptions, deliver: Deliver, signal: AbortSignal) {
    const { run, plan, conversation, from } = options;
    this.#options = options;
    this.#deliver = deliver;
    this.#signal = signal;
    this.#run = { ...run, keep: run.keep || plan !== undefined || conversation !== undefined };
    this.#cascadeId = from?.cascadeId;
  }

  async run(): Promise<void> {
    const { backend, prompt, from, conversation } = this.#options;
    if (from !== undefined) {
      const fromItsStart = { ...from, text: "", thinking: "" };
      await this.#ask(prompt, backend.resume(prompt, fromItsStart, this.#run, this.#signal), false);
      return;
    }
    const continued = conversation?.continued;
    if (continued !== undefined) {
      const asked = { ...continued, instead: prompt };
      if (await this.#ask(asked, backend.run(asked, this.#run, this.#signal), true)) return;
      if (this.#signal.aborted) return conversation?.giveBack(); // nothing was sent
    }
    conversation?.rebuild();
    await this.#ask(prompt, backend.run(prompt, this.#run, this.#signal), false);
  }

  async close(): Promise<void> {
    this.#options.conversation?.close();
    const isHandedOver = this.#signal.aborted && this.#signal.reason === ("detach" satisfies StopReason);
    if (!isHandedOver) await this.#archive();
  }

  /** One prompt and its answer, and a second one where it is needed. False: it failed before `started`, and may be asked elsewhere. */
  async #ask(prompt: Prompt, batches: AsyncIterable<Batch>, fallsBack: boolean): Promise<boolean> {
    const { backend, plan, from } = this.#options;
    if (plan === undefined) {
      const passes = (end: TerminalEvent): AnswerVerdict => ({ type: "end", usage: [], end });
      return (await this.#follow(batches, new PlainAnswer(), passes, fallsBack)) !== "not_begun";
    }
    const mayAskAgain = from === undefined;
    const first = new PlannedAnswer(plan, { mayAskAgain, isNative: from?.tools === "native" });
    let firstEnd: TerminalEvent | undefined;
    const followed = await this.#follow(
      batches,
      first,
      (end) => {
        firstEnd = end;
        return judge({ answer: first, end }, undefined, mayAskAgain);
      },
      fallsBack,
    );
    if (typeof followed === "string" || firstEnd === undefined) return followed !== "not_begun";
    const second = new PlannedAnswer(plan, { before: first, mayAskAgain: false });
    const arrived = { answer: first, end: firstEnd };
    this.#isAskedTwice = true;
    const again = secondPrompt(prompt, first.raw, followed.text, this.#cascadeId);
    try {
      const answer = backend.run(again, this.#run, this.#signal);
      await this.#follow(answer, second, (end) => judge(arrived, { answer: second, end }, false), false);
    } catch (error) {
      if (this.#signal.aborted || second.end !== undefined) throw error;
      await this.#endAfter(arrived, second, toMillraceError(error).toRecord());
    }
    return true;
  }

  /** The second question could not be asked: the turn ends with the calls that the first answer gave, or fails. */
  async #endAfter(first: ArrivedAnswer, second: PlannedAnswer, error: ErrorRecord): Promise<void> {
    const events = second.push({ type: "failed", error });
    const verdict = judge(first, { answer: second, end: { type: "failed", error } }, false);
    if (verdict.type === "end") await this.#end(events, verdict);
  }

  /** Delivers one answer as it arrives, to its end. */
  async #follow(
    batches: AsyncIterable<Batch>,
    answer: PlainAnswer | PlannedAnswer,
    judged: (end: TerminalEvent) => AnswerVerdict,
    fallsBack: boolean,
  ): Promise<"not_begun" | "done" | (AnswerVerdict & { readonly type: "ask_again" })> {
    const { backend, conversation } = this.#options;
    let begun = !fallsBack;
    let isOver = false;
    for await (const whole of batches) {
      for (const batch of inPieces(whole)) {
        if (batch !== whole) await ownTurn();
        if (isOver) continue; // the backend cleans up
        if (!begun) {
          const [first] = batch;
          const isSlow = first?.type === "failed" && first.error.code === "upstream_timeout" && backend.kind === "acp";
          if (first?.type !== "started" && !isSlow) return "not_begun";
          if (isSlow) conversation?.giveBack();
          else conversation?.reuse();
          begun = true; // an agent that is too slow was waited for: it is not waited for a second time
        }
        this.#note(batch);
        const events = through([answer], batch);
        conversation?.note(events);
        if (answer.end === undefined) {
          if (events.length === 0 || (await this.#goesOn(events))) continue;
          if (batch[0]?.type === "started") conversation?.giveBack(); // nothing was sent
          return "done";
        }
        const verdict = judged(answer.end);
        if (verdict.type === "ask_again") {
          const goesOn = events.length === 0 || (await this.#goesOn(events));
          return goesOn ? verdict : "done";
        }
        await this.#end(events, verdict);
        isOver = true;
      }
    }
    return begun ? "done" : "not_begun";
  }

  #note(batch: Batch): void {
    for (const event of batch) {
      if (event.type === "started") this.#cascadeId = event.cascadeId;
      if (event.type === "finished") this.#isLeft = this.#run.keep;
    }
  }

  async #end(last: Batch, verdict: AnswerVerdict & { readonly type: "end" }): Promise<void> {
    const { complete } = this.#options;
    const end = complete === undefined ? verdict.end : await complete(verdict.end);
    let events = last;
    const keep = this.#isLeft ? this.#keeping(end) : undefined;
    if (this.#isLeft && keep === undefined && this.#options.backend.kind !== "acp") {
      if (events.length > 0 && !(await this.#goesOn(events))) return; // shown before the archiving is waited for
      events = [];
      await this.#archive();
    }
    if (keep !== undefined && end.type === "finished") await this.#options.conversation?.foretell(this.#cascadeId, end);
    const isLong = end.type === "finished" && end.text.length > readAtOnce;
    if (isLong) await ownTurn(); // it was read and judged
    const isStored = (await this.#deliver([...events, ...verdict.usage, end])) === "ended";
    if (isLong) await ownTurn(); // readers of a long answer read its end now
    if (keep === undefined || !isStored) return; // without its end in the log the turn may go on elsewhere, in this trajectory
    keep();
    this.#isLeft = false;
  }

  /** Keeps the trajectory for the next turn. Undefined: it is not kept, as it gave no whole answer or holds messages that the client does not see. */
  #keeping(end: TerminalEvent): (() => void) | undefined {
    const { run, conversation } = this.#options;
    const cascadeId = this.#cascadeId;
    if (end.type !== "finished") return undefined;
    if (conversation === undefined || cascadeId === undefined) return run.keep ? () => {} : undefined;
    const isKept = !this.#isAskedTwice && isContinued(end.reason);
    return isKept ? () => conversation.keep(cascadeId, end) : undefined;
  }

  async #goesOn(events: Batch): Promise<boolean> {
    return (await this.#deliver(events)) === "goes_on";
  }

  async #archive(): Promise<void> {
    if (!this.#isLeft || this.#cascadeId === undefined) return;
    this.#isLeft = false;
    const cleaning = deadline(new AbortController().signal, archiveMs); // the turn's own signal may have aborted
    await bestEffort(this.#options.backend.archive(this.#cascadeId, cleaning));
  }
}

/** The same batch, or several where a text in it is long: other clients are served while an answer that came at once is read. */
function* inPieces(batch: Batch): Generator<Batch, void> {
  let from = 0;
  for (const [at, event] of batch.entries()) {
    if (event.type !== "text" || event.delta.length <= readAtOnce) continue;
    if (at > from) yield batch.slice(from, at);
    for (const delta of piecesOf(event.delta, readAtOnce)) yield [{ type: "text", delta }];
    from = at + 1;
  }
  if (from === 0) yield batch;
  else if (from < batch.length) yield batch.slice(from);
}

/** The prompt that asks again, on the trajectory that holds the first answer. */
function secondPrompt(prompt: Prompt, answer: string, reask: string, cascadeId: CascadeId | undefined): Prompt {
  return {
    ...prompt,
    text: reask,
    messages: [...prompt.messages, { role: "assistant", text: answer }, { role: "user", text: reask }],
    images: [],
    continues: cascadeId,
    ...(prompt.native === undefined ? {} : { native: { ...prompt.native, text: reask, results: undefined } }),
  };
}
