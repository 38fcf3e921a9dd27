import { appendFile, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { CascadeId } from "../base/ids.ts";
import type { LanguageServer } from "../language-server/language-server.ts";

/** A conversation that Millrace began in an IDE. `atMs` is when, epoch ms. */
export interface CascadeEntry {
  readonly cascadeId: CascadeId;
  readonly atMs: number;
}

/**
 * Which conversations in the IDE are ours, for longer than the log keeps its turns: nothing else may be cleaned up. It holds
 * names and times, no text. Its methods throw what the file system throws.
 */
export interface CascadeJournal {
  note(entry: CascadeEntry): Promise<void>;
  /** Oldest first, each once, without the forgotten ones. */
  entries(): Promise<readonly CascadeEntry[]>;
  forget(cascadeIds: readonly CascadeId[]): Promise<void>;
  /** It is kept open for the next turn of its conversation until then (epoch ms), is in use again, or was archived. */
  noteKept(cascadeId: CascadeId, untilMs: number): Promise<void>;
  noteTaken(cascadeId: CascadeId): Promise<void>;
  noteArchived(cascadeId: CascadeId): Promise<void>;
  /** Those that were kept and not taken, archived or forgotten since; soonest first. */
  kept(): Promise<readonly { readonly cascadeId: CascadeId; readonly untilMs: number }[]>;
}

const lineJson = z.union([
  z.object({ cascadeId: z.string(), atMs: z.number() }),
  z.object({ forgotten: z.string() }),
  z.object({ kept: z.string(), untilMs: z.number() }),
  z.object({ taken: z.string() }),
  z.object({ archived: z.string() }),
]);
const maxBytes = 64 * 1024 * 1024; // some 700,000 conversations; what was noted before them is not remembered

/**
 * A journal in a file (0600) of one JSON text a line. Several processes may append at once; nothing is ever rewritten.
 * Half a line, from a machine that lost power, is skipped.
 */
export function openCascadeJournal(file: string): CascadeJournal {
  async function append(entries: readonly object[]): Promise<void> {
    if (entries.length === 0) return;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // The line end in front closes a half line that somebody left.
    await appendFile(file, `\n${entries.map((entry) => JSON.stringify(entry)).join("\n")}\n`, { mode: 0o600 });
  }

  return {
    note: ({ cascadeId, atMs }) => append([{ cascadeId, atMs }]),
    forget: (cascadeIds) => append(cascadeIds.map((forgotten) => ({ forgotten }))),

    noteKept: (kept, untilMs) => append([{ kept, untilMs }]),
    noteTaken: (taken) => append([{ taken }]),
    noteArchived: (archived) => append([{ archived }]),

    async kept() {
      const kept = new Map<string, number>();
      for (const entry of await readLines(file)) {
        if ("kept" in entry) kept.set(entry.kept, entry.untilMs);
        else if ("taken" in entry) kept.delete(entry.taken);
        else if ("archived" in entry) kept.delete(entry.archived);
        else if ("forgotten" in entry) kept.delete(entry.forgotten);
      }
      const entries = [...kept].map(([id, untilMs]) => ({ cascadeId: id as CascadeId, untilMs })); // ids as servers gave them
      return entries.sort((a, b) => a.untilMs - b.untilMs);
    },

    async entries() {
      const known = new Map<string, number>();
      for (const entry of await readLines(file)) {
        if ("forgotten" in entry) known.delete(entry.forgotten);
        else if ("cascadeId" in entry && !known.has(entry.cascadeId)) known.set(entry.cascadeId, entry.atMs);
      }
      const entries = [...known].map(([id, atMs]) => ({ cascadeId: id as CascadeId, atMs })); // ids as servers gave them
      return entries.sort((a, b) => a.atMs - b.atMs);
    },
  };
}

async function readLines(file: string): Promise<readonly z.output<typeof lineJson>[]> {
  return (await readTail(file)).split("\n").flatMap((text) => parseLine(text) ?? []);
}

function parseLine(text: string): z.output<typeof lineJson> | undefined {
  if (text === "") return undefined;
  try {
    return lineJson.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // half a line
  }
}

async function readTail(path: string): Promise<string> {
  try {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      const length = Math.min(size, maxBytes);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return ""; // fs throws nothing else; nothing was begun yet
    throw error;
  }
}

/**
 * The same server, whose every new conversation is noted before anybody learns its id. A journal that cannot be written costs
 * no turn: `onProblem` hears of it.
 */
export function withCascadeJournal(
  server: LanguageServer,
  journal: CascadeJournal,
  options: { readonly now: () => number; readonly onProblem: (error: unknown) => void },
): LanguageServer {
  const startCascade = async (signal: AbortSignal): Promise<CascadeId> => {
    const cascadeId = await server.startCascade(signal);
    try {
      await journal.note({ cascadeId, atMs: options.now() });
    } catch (error) {
      options.onProblem(error);
    }
    return cascadeId;
  };
  return new Proxy(server, {
    get(target, name) {
      if (name === "startCascade") return startCascade;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}
