import type { TurnRequest } from "../../log/request.ts";

/**
 * How coding tools name their folder to the model. Each is the client's own line about itself, in a system message or in
 * the first user message: Claude Code and OpenCode write `Working directory: …` inside `<env>`, Codex `<cwd>…</cwd>`.
 */
const forms: readonly RegExp[] = [
  /<env>[^<]*?\bWorking directory:[ \t]*(?<folder>\S[^\n<]*)/,
  /<environment_context>[\s\S]{0,400}?<cwd>(?<folder>[^<\n]+)<\/cwd>/,
  /^[ \t]*(?:- )?(?:Primary |Current )?[Ww]orking directory:[ \t]*(?<folder>(?:\/|~|[A-Za-z]:\\)[^\n<]*)/m,
];

/** A project's name is kept this far, in characters: each list of turns carries it. */
export const projectAtMost = 255;

/** A prompt is read this far, in characters: the lines stand near the top of a message, and prompts may be megabytes. */
const readAtMost = 65_536;

/** The folder that a client names as its own in the messages; undefined if it names none. Only the first three messages are read. */
export function projectFromMessages(request: Pick<TurnRequest, "messages">): string | undefined {
  for (const message of request.messages.slice(0, 3)) {
    if (message.role === "tool" || message.role === "assistant") continue;
    for (const part of message.parts) {
      if (part.type !== "text") continue;
      const text = part.text.slice(0, readAtMost);
      for (const form of forms) {
        const folder = form.exec(text)?.groups?.["folder"]?.trim();
        if (folder) return folder.slice(0, projectAtMost);
      }
    }
  }
  return undefined;
}
