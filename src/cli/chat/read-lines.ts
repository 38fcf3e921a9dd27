import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { within } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { Notifier } from "../../base/notifier.ts";
import type { CommandContext } from "../command.ts";

/** Lines that come within this time of each other were pasted together, in ms. */
const pasteMs = 25;

/** The user's input at the prompt: a text or a key. */
export type EnteredLine =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "interrupt" }
  | { readonly type: "end" };

/**
 * A prompt on a terminal with editing and history. A line that ends with `\` continues in the next one, `"""` begins and ends a text
 * of several lines, and pasted lines stay together. The history is kept in memory only, because it holds prompts.
 */
export class LineReader {
  readonly #clock: Clock;
  readonly #readline: Interface;
  readonly #screen: { isQuiet: boolean };
  readonly #lines: string[] = [];
  #onInterrupt: () => void = () => undefined;
  readonly #typed = new Notifier();
  #isEnded = false;
  #wasInterrupted = false;

  constructor({ io, out }: Pick<CommandContext, "io" | "out">) {
    this.#clock = io.clock;
    const screen = { isQuiet: false };
    this.#screen = screen;
    const output = new Writable({
      write(chunk: Buffer, _encoding, done) {
        if (!screen.isQuiet) out.echo(chunk);
        done();
      },
    });
    Object.defineProperty(output, "columns", { get: () => out.columns });
    this.#readline = createInterface({ input: io.stdin, output, terminal: true, historySize: 200, tabSize: 2 });
    this.#readline.on("line", (line) => {
      if (screen.isQuiet) return; // typed while the answer came
      this.#lines.push(line);
      this.#typed.wake();
    });
    this.#readline.on("close", () => {
      this.#isEnded = true;
      this.#typed.wake();
      this.#onInterrupt();
    });
    this.#readline.on("SIGINT", () => {
      if (screen.isQuiet) return this.#onInterrupt();
      this.#wasInterrupted = true;
      this.#typed.wake();
    });
  }

  /** The next entry. Ctrl-C at the prompt drops the typed text. */
  async read(prompt: string): Promise<EnteredLine> {
    this.#screen.isQuiet = false;
    this.#wasInterrupted = false;
    this.#lines.length = 0;
    const parts: string[] = [];
    let isBlock = false;
    for (;;) {
      this.#readline.setPrompt(parts.length === 0 ? prompt : "… ");
      this.#readline.prompt();
      const line = await this.#nextLine();
      if (line === undefined) return { type: "end" };
      if (line === "interrupt") {
        this.#readline.write(null, { ctrl: true, name: "e" });
        this.#readline.write(null, { ctrl: true, name: "u" });
        return { type: "interrupt" };
      }
      if (line.text.trim() === '"""') {
        if (isBlock) return { type: "text", text: parts.join("\n") };
        isBlock = true;
        continue;
      }
      const goesOn = !isBlock && line.text.endsWith("\\");
      parts.push(goesOn ? line.text.slice(0, -1) : line.text);
      if (!isBlock && !goesOn) {
        while (await this.#isPasted()) parts.push(this.#lines.shift() ?? "");
        return { type: "text", text: parts.join("\n") };
      }
    }
  }

  /** While `work` runs, nothing typed is shown, and Ctrl-C calls `onInterrupt`. */
  async during<T>(onInterrupt: () => void, work: () => Promise<T>): Promise<T> {
    this.#screen.isQuiet = true;
    this.#onInterrupt = onInterrupt;
    try {
      return await work();
    } finally {
      this.#onInterrupt = () => undefined;
    }
  }

  close(): void {
    this.#readline.close();
  }

  async #nextLine(): Promise<{ readonly text: string } | "interrupt" | undefined> {
    for (;;) {
      const text = this.#lines.shift();
      if (text !== undefined) return { text };
      if (this.#wasInterrupted) return "interrupt";
      if (this.#isEnded) return undefined;
      await this.#typed.wait();
    }
  }

  async #isPasted(): Promise<boolean> {
    if (this.#lines.length > 0) return true;
    if (this.#isEnded) return false;
    await within(this.#typed.wait(), pasteMs, this.#clock);
    return this.#lines.length > 0;
  }
}
