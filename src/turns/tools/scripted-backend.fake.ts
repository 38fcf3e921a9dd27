import type { Backend, Batch, Prompt, RunOptions } from "../../backends/backend.ts";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";

export const scriptedCascade = "0f0f0f0f-0000-4000-8000-000000000001" as CascadeId;

/** A backend that answers each prompt with the next of its answers, in pieces of a few characters. */
export class ScriptedBackend implements Backend {
  readonly kind = "cascade";
  readonly prompts: Prompt[] = [];
  readonly options: RunOptions[] = [];
  readonly archived: string[] = [];
  readonly #answers: (string | readonly TurnEventBody[])[];

  constructor(...answers: (string | readonly TurnEventBody[])[]) {
    this.#answers = answers;
  }

  async *run(prompt: Prompt, options: RunOptions, signal?: AbortSignal): AsyncGenerator<Batch, void> {
    if (signal?.aborted === true) return;
    yield [{ type: "started", modelUid: "m" as ModelUid, backend: "cascade", cascadeId: scriptedCascade }];
    this.prompts.push(prompt);
    this.options.push(options);
    yield* this.#answer();
  }

  async *resume(prompt: Prompt, _from: unknown, options: RunOptions): AsyncGenerator<Batch, void> {
    this.prompts.push(prompt);
    this.options.push(options);
    yield* this.#answer();
  }

  archive(cascadeId: CascadeId): Promise<void> {
    this.archived.push(cascadeId);
    return Promise.resolve();
  }

  async *#answer(): AsyncGenerator<Batch, void> {
    const answer = this.#answers.shift() ?? "";
    if (typeof answer !== "string") {
      for (const event of answer) yield [event];
      return;
    }
    for (let at = 0; at < answer.length; at += 7) {
      await Promise.resolve();
      yield [{ type: "text", delta: answer.slice(at, at + 7) }];
    }
    yield [{ type: "usage", promptTokens: 10, completionTokens: 5, thinkingTokens: 0, estimated: false }];
    yield [{ type: "finished", reason: { unified: "stop", raw: "NO_TOOL_CALL" }, text: answer }];
  }
}
