import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { bestEffort } from "../../base/async.ts";
import { isMillraceError, MillraceError, toMillraceError } from "../../base/errors.ts";
import { Notifier } from "../../base/notifier.ts";
import { listModels } from "../clients/target.ts";
import type { CommandContext } from "../command.ts";
import { stopIfPaused } from "../gateway-process/pause-file.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { answerFacts, type ChatModel, chatModel, spellFacts } from "./answer-facts.ts";
import { askTurn, type ChatBody, type ChatWay } from "./chat-turn.ts";
import { showAnswer } from "./show-answer.ts";

/** How a conversation begins. */
interface ChatStart {
  readonly model: ChatModel;
  /** The effort, and what else each question is sent with. Its messages, such as the system prompt, begin each conversation. */
  readonly asks: Omit<ChatBody, "model">;
  readonly thinking: boolean;
  readonly way: ChatWay;
}

const help = [
  "/model          show the models",
  "/model <name>   ask another one from now on",
  "/new            begin a new conversation",
  "/exit           leave (also Ctrl-D)",
  "",
  "A line that ends with \\ continues in the next one, and pasted lines stay together.",
  "Ctrl-C stops the answer. What you type while it comes is the next message.",
];

/** Talks on a terminal until the user leaves. A failed or stopped question can be asked again; the conversation continues without it. */
export async function holdConversation(begin: ChatStart, context: CommandContext): Promise<number> {
  const { out, signal } = context;
  const take = openTalk(begin, context);
  out.note(`${begin.model.name} · /help for commands, Ctrl-D to leave`);
  const editor = openEditor(context);
  signal.addEventListener("abort", editor.close, { once: true });
  try {
    for (;;) {
      const text = await editor.read();
      if (text === undefined) out.line();
      if (signal.aborted) return exitCodes.interrupted;
      if (text === undefined || /^\/?(?:exit|quit)$/.test(text)) return exitCodes.ok;
      const stop = new AbortController();
      await editor.during(stop, () => take(text, stop.signal));
    }
  } finally {
    signal.removeEventListener("abort", editor.close);
    editor.close();
  }
}

/** A conversation: carries out a command or asks a question, and shows the error if that fails. */
function openTalk(begin: ChatStart, context: CommandContext): (text: string, stop: AbortSignal) => Promise<void> {
  const { out, settings, signal } = context;
  let { model } = begin;
  let { messages } = begin.asks;

  async function obey(command: string, argument: string): Promise<void> {
    if (command === "/help") for (const line of help) out.note(line);
    else if (command === "/new") {
      ({ messages } = begin.asks);
      out.note("This is a new conversation.");
    } else if (command === "/model") await choose(argument);
    else
      throw new MillraceError("invalid_request", `There is no command ${command}.`, {
        hint: "/help lists the commands.",
      });
  }

  async function choose(wanted: string): Promise<void> {
    const gateway = await begin.way.gateway(signal);
    if (wanted === "") {
      for (const { id } of await listModels(gateway, signal)) out.note(`${id === model.name ? "*" : " "} ${id}`);
      return;
    }
    try {
      model = await chatModel(gateway, wanted, signal);
    } catch (error) {
      if (!isMillraceError(error) || error.code !== "unknown_model") throw error;
      throw new MillraceError("unknown_model", error.message, { hint: "/model lists the names." });
    }
    out.note(`${model.name} answers from now on.`);
  }

  async function ask(text: string, stop: AbortSignal): Promise<void> {
    stopIfPaused(settings.pauseFile);
    const sent: ChatBody["messages"] = [...messages, { role: "user", content: text }];
    const leave = new AbortController();
    const body = { ...begin.asks, model: model.name, messages: sent };
    const turn = askTurn(body, begin.way, { ...context, signal: leave.signal });
    const options = { thinking: begin.thinking, json: false };
    const shown = await showAnswer(turn, leave, options, { ...context, signal: AbortSignal.any([signal, stop]) });
    if (typeof shown === "string") return out.note("Stopped.");
    messages = [...sent, { role: "assistant", content: shown.answer }];
    const facts = await answerFacts(turn.id(), model, await begin.way.gateway(signal), context);
    out.line(out.style("dim", spellFacts(facts)));
  }

  return async (text, stop) => {
    const [, command, argument = ""] = /^(\/[a-z]+)(?:[^\S\n]+(.*))?$/.exec(text) ?? [];
    try {
      if (command !== undefined) await obey(command, argument);
      else if (text !== "") await ask(text, stop);
    } catch (error) {
      out.problem(toMillraceError(error));
    }
  };
}

/** Lines that come within this time of each other were pasted together, in ms. */
const pasteMs = 25;

/** What makes a terminal mark pasted text, and what ends that. Source: xterm, "Bracketed Paste Mode". */
const [marksPastes, marksNoPastes] = ["\u001b[?2004h", "\u001b[?2004l"];

/**
 * Node's editor of lines. A text that was pasted with its last line end waits for Enter. Its history is in memory only, because it
 * holds prompts.
 */
export function openEditor({ io, out }: Pick<CommandContext, "io" | "out">) {
  let isQuiet = false;
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isQuiet) io.stdout.write(chunk);
      done();
    },
  });
  Object.defineProperty(output, "columns", { get: () => out.columns });
  const editor = createInterface({ input: io.stdin, output, terminal: true });
  const typed = new Notifier();
  let lines: string[] = [];
  /** Whether the last line continues in the next one. */
  let isOpen = false;
  let isPasted = false;
  let isEnded = false;
  let answering: AbortController | undefined;
  io.stdout.write(marksPastes);
  io.stdin.on("keypress", (_text, key?: { readonly name?: string }) => {
    if (key?.name === "paste-start" || key?.name === "paste-end") isPasted = key.name === "paste-start";
  });
  const drop = () => {
    lines = [];
    isOpen = false;
  };
  editor.on("line", (line) => {
    lines.push(line);
    isOpen = isPasted || line.endsWith("\\");
    typed.wake();
  });
  editor.on("close", () => {
    isEnded = true;
    typed.wake();
  });
  editor.on("SIGINT", () => {
    if (answering === undefined && editor.line === "" && lines.length === 0) return editor.close();
    drop();
    if (answering !== undefined) return answering.abort();
    for (const name of ["e", "u"]) editor.write(null, { ctrl: true, name }); // to the end, and all before it away
  });
  return {
    /** The next entry; undefined when the user leaves. Ctrl-C drops what was typed, and leaves where that is nothing. */
    async read(): Promise<string | undefined> {
      isQuiet = false;
      if (lines.length > 0) out.line(`> ${lines.join("\n")}`); // typed while the answer came
      for (;;) {
        if (lines.length > 0 && !isOpen) {
          await bestEffort(io.clock.sleep(pasteMs, io.signal));
          if (!isOpen) return lines.splice(0).join("\n").replaceAll("\\\n", "\n").trim();
        }
        if (isEnded) return undefined;
        editor.setPrompt(isOpen ? "… " : "> ");
        editor.prompt(true);
        await typed.wait();
      }
    },
    /** While `work` runs, nothing typed is shown yet, and Ctrl-C aborts it. */
    async during(stop: AbortController, work: () => Promise<void>): Promise<void> {
      isQuiet = true;
      answering = stop;
      await work();
      answering = undefined;
    },
    close: () => {
      editor.close();
      io.stdout.write(marksNoPastes);
    },
  };
}
