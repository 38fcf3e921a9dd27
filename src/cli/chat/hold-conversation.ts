import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { within } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { isMillraceError, MillraceError, toMillraceError } from "../../base/errors.ts";
import { Notifier } from "../../base/notifier.ts";
import type { StreamRequest } from "../../client/stream/messages.ts";
import type { StreamPass } from "../../client/stream/stream.ts";
import type { StreamOptions } from "../../client/stream/stream-options.ts";
import type { CommandContext } from "../command.ts";
import { stopIfPaused } from "../gateway-process/pause-file.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { visible } from "../terminal/foreign-text.ts";
import { type AnswerFacts, type ChatModel, spellFacts } from "./answer-facts.ts";
import { startChat } from "./chat-streams.ts";
import { fencedFile } from "./read-question.ts";
import { showAnswer } from "./show-answer.ts";

/** How a conversation begins. */
export interface ChatStart {
  readonly model: ChatModel;
  /** The system prompt, the effort, and what else each question is sent with. */
  readonly asks: Omit<StreamRequest, "model" | "messages">;
  readonly thinking: boolean;
  readonly streams: StreamOptions;
  /** Names of the models that can be asked. */
  readonly listModels: () => Promise<readonly string[]>;
  /** The model that a name means. Throws `unknown_model`. */
  readonly findModel: (name: string) => Promise<ChatModel>;
  /** What an answer that has arrived used. */
  readonly factsOf: (pass: StreamPass, model: ChatModel) => Promise<AnswerFacts>;
}

const help = [
  "/models         show the models",
  "/model <name>   ask another one from now on",
  "/new            begin a new conversation",
  "/file <path>    attach a text file to the next message",
  "/save <path>    write the conversation to a Markdown file",
  "/help           show this list",
  "/exit           leave (also Ctrl-D)",
  "",
  'A line that ends with \\ goes on in the next one. """ begins and ends a text of several lines.',
  "Ctrl-C stops the answer. What you type while it comes is the next message.",
];

/** Talks on a terminal until the user leaves. A failed or stopped question can be asked again; the conversation continues without it. */
export async function holdConversation(begin: ChatStart, context: CommandContext): Promise<number> {
  const { out, signal } = context;
  const talk = openTalk(begin, context);
  out.note(`${begin.model.name} · /help for commands, Ctrl-D to leave`);
  const reader = new LineReader(context);
  const onAbort = () => reader.close();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (let interrupts = 0; ; ) {
      const entered: EnteredLine = await reader.read("> ");
      if (entered.type === "end") {
        out.line();
        return signal.aborted ? exitCodes.interrupted : exitCodes.ok;
      }
      if (entered.type === "interrupt") {
        out.line();
        if (++interrupts === 2) return exitCodes.ok;
        out.note("Press Ctrl-C again, or Ctrl-D, to leave.");
        continue;
      }
      interrupts = 0;
      const text = entered.text.trim();
      if (/^\/?(?:exit|quit)$/.test(text)) return exitCodes.ok;
      const stop = new AbortController();
      await reader.during(
        () => stop.abort(),
        () => talk.take(text, stop.signal),
      );
      if (signal.aborted) return exitCodes.interrupted;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    reader.close();
  }
}

/** A conversation: each text is a command or a question. */
function openTalk(begin: ChatStart, context: CommandContext) {
  const { out } = context;
  let { model } = begin;
  let messages: StreamRequest["messages"] = [];
  /** The model of each answer, in their order. */
  let answeredBy: readonly string[] = [];
  let attached: readonly string[] = [];

  /** Carries out a command or asks a question. Shows the error if it fails. */
  async function take(text: string, stop: AbortSignal): Promise<void> {
    try {
      if (text === "") return;
      if (text.startsWith("/") && !text.includes("\n") && /^\/[a-z]+(\s|$)/.test(text)) return await obey(text);
      await ask(text, stop);
    } catch (error) {
      out.problem(toMillraceError(error));
    }
  }

  async function obey(text: string): Promise<void> {
    const [command = "", ...rest] = text.split(/\s+/);
    const argument = rest.join(" ");
    if (command === "/help") for (const line of help) out.note(line);
    else if (command === "/new") {
      messages = [];
      answeredBy = [];
      attached = [];
      out.note("This is a new conversation.");
    } else if (command === "/model" || command === "/models") await choose(argument);
    else if (command === "/file") {
      attached = [...attached, await fencedFile(pathOf(argument))];
      out.note(`${argument} goes with the next message.`);
    } else if (command === "/save") await save(argument);
    else
      throw new MillraceError("invalid_request", `There is no command ${command}.`, {
        hint: "/help lists the commands.",
      });
  }

  async function choose(wanted: string): Promise<void> {
    if (wanted === "") {
      for (const name of await begin.listModels()) out.note(`${name === model.name ? "*" : " "} ${name}`);
      return;
    }
    try {
      model = await begin.findModel(wanted);
    } catch (error) {
      if (!isMillraceError(error) || error.code !== "unknown_model") throw error;
      throw new MillraceError("unknown_model", error.message, { hint: "/models lists the names." });
    }
    out.note(`${model.name} answers from now on.`);
  }

  /** A path as a shell would read it: no shell has replaced the home folder here. */
  function pathOf(path: string): string {
    return path.startsWith("~/") ? join(context.io.homeFolder, path.slice(2)) : path;
  }

  async function ask(text: string, stop: AbortSignal): Promise<void> {
    stopIfPaused(context.settings.pauseFile);
    const { thinking, streams } = begin;
    const question = [text, ...attached].join("\n\n");
    const sent: StreamRequest["messages"] = [...messages, { role: "user", text: question }];
    const leave = new AbortController();
    const asked = { ...begin.asks, model: model.name, messages: sent };
    const asks = model;
    const stream = await startChat(asked, streams, leave.signal);
    const signal = AbortSignal.any([context.signal, stop]);
    const options = { thinking, json: false, model: model.name };
    const shown = await showAnswer(stream, leave, options, { ...context, signal });
    if (typeof shown === "string") return out.note("Stopped.");
    messages = [...sent, { role: "assistant", text: shown.answer }];
    answeredBy = [...answeredBy, asked.model];
    attached = [];
    out.line(out.style("dim", spellFacts(await begin.factsOf(stream.pass, asks))));
  }

  async function save(path: string): Promise<void> {
    if (path === "")
      throw new MillraceError("invalid_request", "/save needs a file name.", { hint: "Type: /save talk.md" });
    const names = answeredBy.flatMap((name) => ["You", name]);
    const parts = messages.map(({ text }, at) => `## ${names[at]}\n\n${text}\n`);
    try {
      await writeFile(pathOf(path), parts.join("\n"), { flag: "wx", mode: 0o600 });
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code === "EEXIST" ? "exists already" : "cannot be written";
      throw new MillraceError("invalid_request", `${path} ${why}.`, { hint: "Choose another file name." });
    }
    out.note(`The conversation is in ${path}.`);
  }

  return { take };
}

/** Lines that come within this time of each other were pasted together, in ms. */
const pasteMs = 25;

/** What makes a terminal mark pasted text, and what ends that. Source: xterm, "Bracketed Paste Mode". */
const [marksPastes, marksNoPastes] = ["\u001b[?2004h", "\u001b[?2004l"];

/** The user's input at the prompt: a text or a key. */
export type EnteredLine =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "interrupt" }
  | { readonly type: "end" };

/**
 * A prompt on a terminal with editing and history. A line that ends with `\` continues in the next one, `"""` begins and ends a text
 * of several lines, and pasted lines stay together: a text that ends with a line feed waits for Enter. What is typed while an answer comes is the next entry; if the answer is stopped, it
 * waits at the prompt. The history is kept in memory only, because it holds prompts.
 */
export class LineReader {
  readonly #clock: Clock;
  readonly #readline: Interface;
  readonly #screen: { isQuiet: boolean };
  readonly #lines: { readonly text: string; readonly isPasted: boolean }[] = [];
  #onInterrupt: () => void = () => undefined;
  readonly #typed = new Notifier();
  #isEnded = false;
  #wasInterrupted = false;
  /** The answer was stopped: what was typed meanwhile is not sent by itself. */
  #isStopped = false;

  constructor({ io, out }: Pick<CommandContext, "io" | "out">) {
    this.#clock = io.clock;
    const screen = { isQuiet: false };
    this.#screen = screen;
    this.#echo = (lines) => out.echo(`${lines.map((line) => visible(line)).join("\n")}\n`);
    const output = new Writable({
      write(chunk: Buffer, _encoding, done) {
        if (!screen.isQuiet) out.echo(chunk);
        done();
      },
    });
    Object.defineProperty(output, "columns", { get: () => out.columns });
    this.#readline = createInterface({ input: io.stdin, output, terminal: true, historySize: 200, tabSize: 2 });
    let isPasted = false;
    out.echo(marksPastes);
    io.stdin.on("keypress", (_text, key?: { readonly name?: string }) => {
      if (key?.name === "paste-start") isPasted = true;
      if (key?.name === "paste-end") isPasted = false;
    });
    this.#readline.on("line", (text) => {
      this.#lines.push({ text, isPasted });
      this.#typed.wake();
    });
    this.#leave = () => out.echo(marksNoPastes);
    this.#readline.on("close", () => {
      this.#isEnded = true;
      this.#typed.wake();
      this.#onInterrupt();
    });
    this.#readline.on("SIGINT", () => {
      if (screen.isQuiet) {
        this.#isStopped = true;
        return this.#onInterrupt();
      }
      this.#wasInterrupted = true;
      this.#typed.wake();
    });
  }

  /** The next entry. Ctrl-C at the prompt drops the typed text. */
  async read(prompt: string): Promise<EnteredLine> {
    this.#screen.isQuiet = false;
    this.#wasInterrupted = false;
    const typed = this.#isStopped && !this.#isEnded ? this.#lines.splice(0) : [];
    if (typed.length > 0) this.#readline.write(typed.map(({ text }) => text).join(" ")); // to be sent or deleted
    this.#isStopped = false;
    const parts: string[] = [];
    let isBlock = false;
    for (;;) {
      const first = this.#lines[0];
      if (first !== undefined && parts.length === 0)
        this.#echo([`${prompt}${first.text}`, ...this.#lines.slice(1).map(({ text }) => text)]);
      else if (!this.#isEnded) {
        this.#readline.setPrompt(parts.length === 0 ? prompt : "… ");
        this.#readline.prompt(true);
      }
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
      if (!isBlock && !goesOn && !line.isPasted) {
        while (await this.#isPasted()) parts.push(this.#lines.shift()?.text ?? "");
        return { type: "text", text: parts.join("\n").trimEnd() };
      }
    }
  }

  /** While `work` runs, nothing typed is shown yet, and Ctrl-C calls `onInterrupt`. */
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
    this.#leave();
  }

  /** The terminal is as it was. */
  readonly #leave: () => void;
  /** Shows what was typed while nothing was shown. */
  readonly #echo: (lines: readonly string[]) => void;

  async #nextLine(): Promise<{ readonly text: string; readonly isPasted: boolean } | "interrupt" | undefined> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) return line;
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
