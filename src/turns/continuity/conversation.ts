import type { Prompt } from "../../backends/backend.ts";
import type { CascadeId } from "../../base/ids.ts";
import type { FinishReason, TurnEventBody } from "../../log/event.ts";
import type { Asker, Continuation, Continuity } from "./continuity.ts";
import { heldPart, visibleAnswer, waits } from "./visible-history.ts";

/** Whether a conversation can go on after an answer that ended so. */
export function isContinued({ unified }: FinishReason): boolean {
  return unified === "stop" || unified === "tool_calls";
}

/**
 * The conversation of one turn: the choice of its trajectory, and that trajectory's end. The trajectory of a whole answer is kept for
 * the next turn. A chosen trajectory that is not kept again is released.
 */
export class Conversation {
  readonly #options;
  readonly #calls: TurnEventBody[] = [];
  #chosen: CascadeId | undefined;
  #travelled: string | undefined;

  constructor(options: {
    readonly continuity: Continuity;
    readonly asker: Asker;
    readonly choice: Continuation;
    /** The prompt for the trajectory that the choice names; undefined where the layout cannot say it. */
    readonly continued: Prompt | undefined;
  }) {
    this.#options = options;
    this.#chosen = options.choice.type === "reuse" ? options.choice.cascadeId : undefined;
  }

  /** How the prompt travelled, once that is known: `reused`, `rebuilt(reason)`. */
  get travelled(): string | undefined {
    return this.#travelled;
  }

  get continued(): Prompt | undefined {
    return this.#options.continued;
  }

  /** The prompt goes into the trajectory that holds its history. */
  reuse(): void {
    this.#travelled = "reused";
  }

  /** The prompt goes into a fresh trajectory, with its whole history. */
  rebuild(): void {
    const { choice } = this.#options;
    this.close();
    this.#travelled = `rebuilt(${choice.type === "reuse" ? (choice.without ?? "trajectory_gone") : choice.reason})`;
  }

  /** Notes the visible parts of the answer that are not text. */
  note(events: readonly TurnEventBody[]): void {
    this.#calls.push(...events.filter(({ type }) => type === "tool_call"));
  }

  /**
   * Notes that a prompt waits in the trajectory, before the end that says so is in the log: a gateway that dies between the two leaves
   * the prompt to the next one, which archives what nobody keeps.
   */
  async foretell(cascadeId: CascadeId | undefined, end: { readonly reason: FinishReason }): Promise<void> {
    if (cascadeId !== undefined && waits(end)) await this.#options.continuity.foretell(cascadeId);
  }

  /** Keeps the trajectory for the next turn. Called once the end of its turn is in the log: a stop archives what is kept. */
  keep(cascadeId: CascadeId, end: { readonly reason: FinishReason; readonly text: string }): void {
    const { continuity, asker } = this.#options;
    continuity.keep(asker, cascadeId, visibleAnswer(this.#calls, end));
    if (cascadeId === this.#chosen) this.#chosen = undefined;
  }

  /** Nothing was sent to the trajectory that was chosen. Where an agent may wait there for results, the next turn may bring them. */
  giveBack(): void {
    const { continuity, asker } = this.#options;
    if (heldPart(asker.request, asker.modelUid)?.awaits !== true || this.#chosen === undefined) return this.close();
    continuity.giveBack(this.#chosen);
    this.#chosen = undefined;
  }

  /** Releases the trajectory that was chosen, unless it is kept. */
  close(): void {
    if (this.#chosen !== undefined) this.#options.continuity.release(this.#chosen);
    this.#chosen = undefined;
  }
}
