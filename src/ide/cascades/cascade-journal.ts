import { createReadStream, statSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import { z } from "zod";
import { bestEffort } from "../../base/async.ts";
import type { CascadeId } from "../../base/ids.ts";
import { parseJson, writeJson } from "../../base/json.ts";
import { withFileLock } from "../../base/node/file-lock.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";

/** A conversation that Millrace began in an IDE. `atMs` is the time of its start, epoch ms. */
export interface CascadeEntry {
  readonly cascadeId: CascadeId;
  readonly atMs: number;
}

/** The model and the client of a conversation's last turn. */
export interface LastAsk {
  readonly model: string;
  readonly client: string | undefined;
}

/** A cascade that is not known to be archived. */
export interface LeftCascade extends CascadeEntry {
  /** The process that began it, or took it up last; undefined in lines of older builds. `atMs` is the time of that. */
  readonly owner: string | undefined;
  /** It is kept open for the next turn of its conversation until then, epoch ms. */
  readonly untilMs: number | undefined;
}

/**
 * Which conversations in the IDE are ours, for longer than the log keeps its turns: nothing else may be cleaned up. It holds
 * names and times, no text. Its methods throw the file system's errors.
 */
export interface CascadeJournal {
  /** `owner` names the process that is responsible for it. */
  note(entry: CascadeEntry & { readonly owner?: string }): Promise<void>;
  /** Oldest first, each once, without the forgotten ones. */
  entries(): Promise<readonly (CascadeEntry & Partial<LastAsk>)[]>;
  forget(cascadeIds: readonly CascadeId[]): Promise<void>;
  /** Notes that it is kept open for the next turn of its conversation until then (epoch ms), is in use again, or was archived. */
  noteKept(cascadeId: CascadeId, untilMs: number): Promise<void>;
  noteTaken(entry: CascadeEntry & { readonly owner: string }): Promise<void>;
  noteArchived(cascadeId: CascadeId): Promise<void>;
  /** A turn uses it: `millrace doctor --conversations` shows this beside its id. */
  noteAsked(cascadeId: CascadeId, asked: LastAsk): Promise<void>;
  /**
   * The conversations that were noted, and neither archived nor removed since. Older builds noted only those that they kept
   * open. Reads the lines that are new since the last call.
   */
  left(): Promise<readonly LeftCascade[]>;
}

const lineJson = z.union([
  z.object({ cascadeId: z.string(), atMs: z.number(), owner: z.string().optional() }),
  z.object({ forgotten: z.string() }),
  z.object({ kept: z.string(), untilMs: z.number() }),
  z.object({ taken: z.string(), atMs: z.number().optional(), owner: z.string().optional() }),
  z.object({ archived: z.string() }),
  z.object({ asked: z.string(), model: z.string(), client: z.string().optional() }),
]);
type Line = z.output<typeof lineJson>;

/** The journal is rewritten once it is so large, and twice as large as after it was rewritten last; bytes. */
const leastRewrittenBytes = 1024 * 1024;
/** The newest archived conversations that a rewritten journal still knows: their files may be in the IDE's folder. */
const mostArchived = 20_000;
const maxLeftBytes = 4 * 1024 * 1024; // the newest ones: reading them must not hold up a start

/**
 * A journal in a file (0600) of one JSON text a line. Its folder is there, or nothing is noted: a home that was moved away comes back. Several processes may append at once. It is rewritten when it has doubled, with what
 * is still true. Half a line, from a machine that lost power, is skipped.
 */
export function openCascadeJournal(
  file: string,
  { leastBytes = leastRewrittenBytes, most = mostArchived, leftBytes = maxLeftBytes } = {},
): CascadeJournal {
  /** After it was rewritten last. */
  let rewrittenBytes = 0;

  let waiting: { readonly entries: object[]; readonly written: Promise<void> } | undefined;
  let writing: Promise<unknown> = Promise.resolve();

  /** Entries that arrive during a write go into the next write together: turns that start at one time open the file once, not once each. */
  async function append(entries: readonly object[]): Promise<void> {
    if (waiting === undefined) {
      const group: object[] = [];
      const written = writing.then(() => {
        waiting = undefined;
        return write(group);
      });
      writing = bestEffort(written);
      waiting = { entries: group, written };
    }
    waiting.entries.push(...entries);
    await waiting.written;
  }

  async function write(entries: readonly object[]): Promise<void> {
    if (entries.length === 0) return;
    // The line end in front closes a half line that a killed process left.
    const lines = `\n${entries.map((entry) => writeJson(entry)).join("\n")}\n`;
    const size = await appendTo(file, lines);
    if (size < Math.max(leastBytes, 2 * rewrittenBytes)) return;
    rewrittenBytes = size; // where it cannot be rewritten, it is tried again when it has doubled once more
    rewrittenBytes = await rewrite(file, most).catch(() => size);
  }

  const left = new Map<string, LeftCascade>();
  let read: { readonly to: number; readonly inode: number } | undefined;
  let reading: Promise<unknown> = Promise.resolve();

  async function readOn(): Promise<readonly LeftCascade[]> {
    const { text, startsAt, endsAt, inode } = await readFrom(file, read, leftBytes);
    const whole = text.lastIndexOf("\n") + 1; // what follows is being written
    if (read !== undefined && (inode !== read.inode || startsAt < read.to)) left.clear(); // it was rewritten or replaced
    read = { to: endsAt - Buffer.byteLength(text.slice(whole)), inode };
    for (const entry of linesOf(text.slice(0, whole))) noteLeft(left, entry);
    return [...left.values()];
  }

  return {
    note: ({ cascadeId, atMs, owner }) => append([{ cascadeId, atMs, owner }]),
    forget: (cascadeIds) => append(cascadeIds.map((forgotten) => ({ forgotten }))),

    noteKept: (kept, untilMs) => append([{ kept, untilMs }]),
    noteTaken: ({ cascadeId: taken, atMs, owner }) => append([{ taken, atMs, owner }]),
    noteArchived: (archived) => append([{ archived }]),
    noteAsked: (asked, { model, client }) => append([{ asked, model, client }]),

    left() {
      const answer = reading.then(readOn); // one after the other: each goes on where the last one stopped
      reading = bestEffort(answer);
      return answer;
    },

    async entries() {
      const known = new Map<string, number>();
      const askedFor = new Map<string, LastAsk>();
      for await (const entry of linesIn(file)) {
        if ("forgotten" in entry) {
          known.delete(entry.forgotten);
          askedFor.delete(entry.forgotten);
        } else if ("asked" in entry) askedFor.set(entry.asked, { model: entry.model, client: entry.client });
        else if ("cascadeId" in entry && !known.has(entry.cascadeId)) known.set(entry.cascadeId, entry.atMs);
      }
      const entries = [...known].map(([id, atMs]) => ({ cascadeId: id as CascadeId, atMs, ...askedFor.get(id) })); // ids as servers gave them
      return entries.sort((a, b) => a.atMs - b.atMs);
    },
  };
}

/** Appends, and once more where the file was rewritten meanwhile. Answers its size. */
async function appendTo(path: string, lines: string): Promise<number> {
  for (;;) {
    const file = await open(path, "a", 0o600);
    try {
      await file.appendFile(lines);
      const { ino, size } = await file.stat();
      const now = await stat(path).catch(() => undefined);
      if (now === undefined || now.ino === ino) return size;
    } finally {
      await file.close();
    }
  }
}

/**
 * Rewrites the journal with what is still true: what is left, and the newest that were archived and may still have a file. Sessions of
 * agents have none. What other processes append meanwhile is added. Answers the new size.
 */
async function rewrite(path: string, most: number): Promise<number> {
  const old = await open(path, "r");
  try {
    const begun = new Map<string, number>();
    const asked = new Map<string, object>();
    const left = new Map<string, LeftCascade>();
    const { size, ino } = await old.stat();
    for await (const line of linesIn(path, size)) {
      noteLeft(left, line);
      if ("forgotten" in line) begun.delete(line.forgotten);
      else if ("asked" in line) asked.set(line.asked, line);
      else if ("cascadeId" in line && !begun.has(line.cascadeId)) begun.set(line.cascadeId, line.atMs);
    }
    const archived = [...begun].filter(([id]) => !left.has(id) && !id.startsWith("acp:")).slice(-most);
    const lines: object[] = archived.map(([cascadeId, atMs]) => ({ cascadeId, atMs }));
    for (const { cascadeId, atMs, owner, untilMs } of left.values()) {
      lines.push({ cascadeId, atMs: begun.get(cascadeId) ?? atMs });
      if (owner !== undefined) lines.push({ taken: cascadeId, atMs, owner });
      if (untilMs !== undefined) lines.push({ kept: cascadeId, untilMs });
      const ask = asked.get(cascadeId);
      if (ask !== undefined) lines.push(ask);
    }
    const text = lines.map((line) => `${writeJson(line)}\n`).join("");
    // Of two processes that rewrite it at once, the second one has not read what the first one has added.
    const isOurs = withFileLock(path, () => statSync(path).ino === ino && (replaceFileSync(path, text), true));
    if (!isOurs) return (await stat(path)).size;
    const { size: ended } = await old.stat();
    const late = await old.read(Buffer.alloc(ended - size), 0, ended - size, size);
    if (late.bytesRead > 0) await appendTo(path, late.buffer.toString("utf8", 0, late.bytesRead));
    return text.length + late.bytesRead;
  } finally {
    await old.close();
  }
}

/** The lines of the file, one at a time, up to a place in it; none without a file. */
async function* linesIn(path: string, end?: number): AsyncGenerator<Line, void> {
  try {
    const input = createReadStream(path, {
      encoding: "utf8",
      ...(end === undefined ? {} : { end: Math.max(0, end - 1) }),
    });
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      const line = parseLine(text);
      if (line !== undefined) yield line;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error; // fs throws nothing else; nothing was begun yet
  }
}

/** Applies a line of the journal to the cascades that are left. */
function noteLeft(left: Map<string, LeftCascade>, line: Line): void {
  if ("asked" in line) return; // that changes nothing in what is left
  if ("kept" in line) {
    const { owner, atMs = line.untilMs } = left.get(line.kept) ?? { owner: undefined };
    left.set(line.kept, { cascadeId: line.kept as CascadeId, owner, atMs, untilMs: line.untilMs }); // an id as a server gave it
  } else if ("forgotten" in line) left.delete(line.forgotten);
  else if ("archived" in line) left.delete(line.archived);
  else {
    const { owner, atMs } = line;
    const id = "taken" in line ? line.taken : line.cascadeId;
    if (owner === undefined || atMs === undefined)
      left.delete(id); // noted by an older build: its owner is unknown
    else left.set(id, { cascadeId: id as CascadeId, owner, atMs, untilMs: undefined }); // as above
  }
}

function linesOf(text: string): readonly Line[] {
  return text.split("\n").flatMap((line) => parseLine(line) ?? []);
}

function parseLine(text: string): Line | undefined {
  if (text === "") return undefined;
  try {
    return lineJson.safeParse(parseJson(text)).data;
  } catch {
    return undefined; // half a line
  }
}

/** Reads from a place in the file on, or from its start if it is another file or has become shorter; at most its last `limit` bytes. */
async function readFrom(
  path: string,
  from: { readonly to: number; readonly inode: number } | undefined,
  limit: number,
): Promise<{ readonly text: string; readonly startsAt: number; readonly endsAt: number; readonly inode: number }> {
  try {
    const file = await open(path, "r");
    try {
      const { size, ino } = await file.stat();
      const goesOn = from !== undefined && from.inode === ino && from.to <= size;
      const start = Math.max(goesOn ? from.to : 0, size - limit);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
      return { text: buffer.toString("utf8", 0, bytesRead), startsAt: start, endsAt: start + bytesRead, inode: ino };
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { text: "", startsAt: 0, endsAt: 0, inode: 0 }; // fs throws nothing else; nothing was begun yet
    throw error;
  }
}
