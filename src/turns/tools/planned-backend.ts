import type { Backend, Prompt, ResumePoint, RunOptions, StopReason } from "../../backends/backend.ts";
import { eachAlone, eventsOf } from "../../backends/batches.ts";
import { bestEffort, deadline } from "../../base/async.ts";
import { MillraceError, unusableAnswer } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";
import type { FinishReason, TurnEventBody, Usage } from "../../log/event.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { AnswerReader } from "./answer-reader.ts";
import type { CallOutcome } from "./call-desk.ts";

/** What became of a turn's calls. */
export interface AnswerReport {
  /** One entry a call. */
  readonly outcomes: readonly CallOutcome[];
  /** Whether the model was asked a second time: then the trajectory holds an exchange that the client never sees. */
  readonly asked: "once" | "twice";
}

const archiveMs = 10_000;

/**
 * A backend whose answers are read by a plan: what the model wrote as calls becomes `tool_call` events, an answer that has
 * to be JSON is checked. An answer that cannot be used is asked for again, once, on the same trajectory; if the second
 * cannot either, the turn fails with `upstream_failed`. One that only announces a call is asked for that call as well, but
 * stands if none comes. `onReport` is called once, before the terminal event.
 *
 * `resume` reads the answer from its start again whatever `from` says: the caller drops what its log holds. It never asks
 * a second time, since whether that was done before is not known.
 */
export function plannedBackend(inner: Backend, plan: AnswerPlan, onReport: (report: AnswerReport) => void): Backend {
  return {
    kind: inner.kind,
    run: (prompt, options, signal) =>
      eachAlone(
        follow(prompt, options, signal, eventsOf(inner.run(prompt, { ...options, keep: true }, signal)), undefined),
      ),
    resume: (prompt, from, options, signal) => {
      const start: ResumePoint = { ...from, text: "", thinking: "" };
      const again = eventsOf(inner.resume(prompt, start, { ...options, keep: true }, signal));
      return eachAlone(follow(prompt, options, signal, again, from));
    },
    archive: (cascadeId, signal) => inner.archive(cascadeId, signal),
  };

  async function* follow(
    prompt: Prompt,
    options: RunOptions,
    signal: AbortSignal,
    first: AsyncIterable<TurnEventBody>,
    resumed: ResumePoint | undefined,
  ): AsyncGenerator<TurnEventBody, void> {
    let cascadeId = resumed?.cascadeId;
    const turn = new Exchange();
    /** The inner backend kept the trajectory of an answer that ended, and cleans up after any other. */
    let left: boolean | undefined;
    /** Before the terminal event: once the log has that, nobody comes back to this turn, not even after a crash. */
    const letGo = async () => {
      const isLeft = left ?? turn.end?.type === "finished"; // also when the turn is ended while its last words are handed on
      if (!isLeft || cascadeId === undefined) return;
      left = false;
      await bestEffort(inner.archive(cascadeId, deadline(new AbortController().signal, archiveMs)));
    };
    try {
      const reader = new AnswerReader(plan);
      for await (const event of turn.read(first, reader)) {
        if (event.type === "started") cascadeId = event.cascadeId;
        yield event;
      }
      let end = turn.end;
      let last = reader;
      left = end?.type === "finished";
      if (end?.type === "finished") {
        const { events, result } = reader.end(lengthOf(end.reason));
        yield* events;
        let { problem } = result;
        let usage = turn.usage;
        if (result.reask !== undefined && resumed === undefined) {
          last = new AnswerReader(plan, reader);
          const again = new Exchange();
          const second = eventsOf(
            inner.run(secondPrompt(prompt, reader.raw, result.reask, cascadeId), { ...options, keep: true }, signal),
          );
          for await (const event of again.read(second, last))
            if (event.type !== "started" && event.type !== "thinking") yield event; // thoughts about our own question
          usage = summed(usage, again.usage);
          const closing = again.end?.type === "finished" ? last.end(lengthOf(again.end.reason)) : undefined;
          if (closing !== undefined) yield* closing.events;
          // an answer without a problem stands as it is when the call that it announces cannot be had
          const stands = problem === undefined && last.calls === 0 && again.end !== undefined;
          if (!stands) [end, problem] = [again.end, closing?.result.problem];
        }
        if (end === undefined) return; // the signal ended it: whoever aborted writes the terminal event
        const usable = end.type === "finished" && problem === undefined;
        onReport(reportOf(reader, last));
        if (usage !== undefined) yield { type: "usage", ...usage };
        if (options.keep && usable) left = false;
        await letGo();
        if (end.type !== "finished") yield end;
        else if (problem !== undefined) yield { type: "failed", error: unusable(problem, last !== reader).toRecord() };
        else yield { type: "finished", reason: reasonOf(end.reason, last.calls), text: last.visibleText };
      } else if (end !== undefined) {
        if (turn.usage !== undefined) yield { type: "usage", ...turn.usage };
        yield end;
      }
    } finally {
      if (!(signal.aborted && signal.reason === ("detach" satisfies StopReason))) await letGo();
    }
  }
}

type Terminal = TurnEventBody & { readonly type: "finished" | "failed" | "cancelled" };

/** One prompt and its answer: passes events on, with usage and the end kept back. */
class Exchange {
  usage: Usage | undefined;
  end: Terminal | undefined;

  async *read(events: AsyncIterable<TurnEventBody>, reader: AnswerReader): AsyncGenerator<TurnEventBody, void> {
    for await (const event of events) {
      switch (event.type) {
        case "text":
          yield* reader.push(event.delta);
          break;
        case "rewritten":
          yield* reader.rewrite(event.text);
          break;
        case "usage": {
          const { type: _, ...usage } = event;
          this.usage = usage;
          break;
        }
        case "finished":
          this.end = event;
          if (event.text !== reader.raw && event.text.startsWith(reader.raw))
            yield* reader.push(event.text.slice(reader.raw.length));
          return;
        case "failed":
        case "cancelled":
          this.end = event;
          return;
        case "started":
        case "thinking":
        case "tool_call":
          yield event;
          break;
        default:
          event satisfies never;
      }
    }
  }
}

function secondPrompt(prompt: Prompt, answer: string, reask: string, cascadeId: CascadeId | undefined): Prompt {
  return {
    ...prompt,
    text: reask,
    messages: [...prompt.messages, { role: "assistant", text: answer }, { role: "user", text: reask }],
    images: [],
    continues: cascadeId,
  };
}

function reportOf(first: AnswerReader, last: AnswerReader): AnswerReport {
  const twice = last !== first;
  const failed = Array.from({ length: last.failedCalls }, (): CallOutcome => "failed");
  const outcomes = [...first.outcomes, ...(twice ? last.outcomes : []), ...failed];
  return { outcomes, asked: twice ? "twice" : "once" };
}

function lengthOf(reason: FinishReason): "stop" | "length" {
  return reason.unified === "length" ? "length" : "stop";
}

/** Why the turn ended follows from what it holds, not from what the upstream says. */
function reasonOf(reason: FinishReason, calls: number): FinishReason {
  if (reason.unified === "length" || reason.unified === "content_filter") return reason;
  return { unified: calls > 0 ? "tool_calls" : "stop", raw: reason.raw };
}

function summed(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const credits = (a.creditsHundredths ?? 0) + (b.creditsHundredths ?? 0);
  const cached = (a.cachedPromptTokens ?? 0) + (b.cachedPromptTokens ?? 0);
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    thinkingTokens: a.thinkingTokens + b.thinkingTokens,
    ...(a.cachedPromptTokens === undefined && b.cachedPromptTokens === undefined ? {} : { cachedPromptTokens: cached }),
    ...(a.creditsHundredths === undefined && b.creditsHundredths === undefined ? {} : { creditsHundredths: credits }),
    estimated: a.estimated || b.estimated,
  };
}

function unusable(problem: string, twice: boolean): MillraceError {
  return new MillraceError("upstream_failed", `The model gave ${problem}${twice ? " (it was asked twice)" : ""}.`, {
    details: { reason: unusableAnswer },
    hint: "Send the request again, or pick a model that calls tools more reliably; `millrace models --tools` shows how each fares.",
  });
}
