import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { MillraceError } from "../../base/errors.ts";
import type { CommandContext } from "../command.ts";

/** How long a question on the command line waits for the first byte of piped text, in ms. */
const firstByteMs = 3000;
/** The largest file and the longest piped text that a question may carry, in bytes. */
const maxBytes = 4 * 1024 * 1024;

const howToAsk = { hint: 'Type the question: millrace chat "What is a millrace?"' };

/**
 * The question: the words of the command line, then piped text (a lone `-` waits for it), then files. With words or files it waits 3 s for piped text, and
 * then continues with a note, because some programs leave the pipe open and empty.
 *
 * @throws MillraceError `invalid_request` when there is nothing to ask, or a file cannot be read as text.
 */
export async function readQuestion(
  asked: { readonly words: readonly string[]; readonly files: readonly string[] },
  context: CommandContext,
): Promise<string> {
  const words = asked.words.filter((word) => word !== "-").join(" ");
  const files = await Promise.all(asked.files.map(fencedFile));
  const isPatient = asked.words.includes("-") || (words === "" && files.length === 0);
  const piped = await readPiped(isPatient, context);
  const question = [words, piped, ...files].filter((part) => part !== "").join("\n\n");
  if (question === "") throw new MillraceError("invalid_request", "There is no question.", howToAsk);
  return question;
}

async function readPiped(isPatient: boolean, { io, out, signal }: CommandContext): Promise<string> {
  if (io.stdin.isTTY === true) return "";
  const reading = readAll(io.stdin);
  if (!isPatient) {
    const giveUp = new AbortController();
    const pause = io.clock.sleep(firstByteMs, AbortSignal.any([signal, giveUp.signal])).then(
      () => true,
      () => false, // something was piped, or the command was interrupted
    );
    const isEmpty = await Promise.race([pause, reading.begun.then(() => false)]);
    giveUp.abort();
    if (isEmpty) {
      io.stdin.destroy();
      out.note(
        'Nothing was piped within 3 s, so only the question is sent. Add "-" to wait longer, or "< /dev/null" to pipe nothing.',
      );
      return "";
    }
  }
  return (await reading.text).trim();
}

/** `begun` resolves at the first byte or at the end. */
function readAll(stdin: CommandContext["io"]["stdin"]): {
  readonly begun: Promise<void>;
  readonly text: Promise<string>;
} {
  const begun = Promise.withResolvers<void>();
  const whole = Promise.withResolvers<string>();
  const decoder = new StringDecoder("utf8");
  let bytes = 0;
  let text = "";
  stdin.on("data", (chunk: Buffer) => {
    begun.resolve();
    bytes += chunk.length;
    if (bytes > maxBytes) {
      whole.reject(new MillraceError("invalid_request", "The piped text is longer than 4 MiB.", howToAsk));
      stdin.destroy();
    } else text += decoder.write(chunk);
  });
  const end = () => {
    begun.resolve();
    whole.resolve(text + decoder.end());
  };
  stdin.once("close", end);
  stdin.once("end", end);
  stdin.once("error", () => stdin.destroy()); // such as a closed descriptor: nothing was piped
  return { begun: begun.promise, text: whole.promise };
}

/** A file as a fenced block under its name. */
async function fencedFile(path: string): Promise<string> {
  const bytes = await readBytes(path);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new MillraceError("invalid_request", `${path} is not a text file.`, {
      hint: "Attach pictures with --image; other binary files cannot be sent.",
    });
  }
  const longest = Math.max(0, ...Array.from(text.matchAll(/^`{3,}/gm), ([ticks]) => ticks.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  return `${basename(path)}:\n${fence}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** @throws MillraceError `invalid_request` that names the file and the problem. */
export async function readBytes(path: string): Promise<Buffer> {
  try {
    const facts = await stat(path);
    if (!facts.isFile()) throw new MillraceError("invalid_request", `${path} is not a file.`, { hint: "Name a file." });
    if (facts.size > maxBytes) {
      const hint = "Send a part of it, for example with head or sed in a pipe.";
      throw new MillraceError("invalid_request", `${path} is larger than 4 MiB.`, { hint });
    }
    return await readFile(path);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "does not exist" : `cannot be read (${code ?? "unknown error"})`;
    throw new MillraceError("invalid_request", `${path} ${why}.`, { hint: "Check the path after --file or --image." });
  }
}
