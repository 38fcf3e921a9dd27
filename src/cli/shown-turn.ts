import type { TurnEvent } from "../log/event.ts";
import type { CommandContext } from "./command.ts";

/** A turn's events as a person reads them: the answer on stdout, everything else on stderr. */
export class ShownTurn {
  readonly #context: Pick<CommandContext, "io" | "out">;
  /** Where an unfinished line is. */
  #inLine: "stdout" | "stderr" | undefined;
  #arguments = "";

  constructor(context: Pick<CommandContext, "io" | "out">) {
    this.#context = context;
  }

  add(event: TurnEvent): void {
    switch (event.type) {
      case "text":
        return this.#write("stdout", event.delta);
      case "thinking":
        return this.#write("stderr", event.delta);
      case "rewritten":
        this.#note("[The model rewrote its answer:]");
        return this.#write("stdout", event.text);
      case "tool_call":
        this.#arguments += event.argumentsDelta;
        if (!event.done) return;
        this.#note(`[calls ${event.name} ${this.#arguments}]`);
        this.#arguments = "";
        return;
      case "failed":
        return this.#note(`Failed: ${event.error.message} ${event.error.hint}`);
      case "cancelled":
        return this.#note(`Cancelled (${event.by}).`);
      case "started":
      case "usage":
      case "finished":
        return;
      default:
        event satisfies never;
    }
  }

  endLine(): void {
    if (this.#inLine !== undefined) this.#context.io[this.#inLine].write("\n");
    this.#inLine = undefined;
  }

  #write(where: "stdout" | "stderr", text: string): void {
    if (text === "") return;
    if (this.#inLine !== where) this.endLine();
    this.#context.io[where].write(text);
    this.#inLine = text.endsWith("\n") ? undefined : where;
  }

  #note(text: string): void {
    this.endLine();
    this.#context.out.note(text);
  }
}
