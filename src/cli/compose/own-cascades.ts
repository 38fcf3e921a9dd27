import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { CascadeId } from "../../base/ids.ts";
import { type CascadeFile, codeiumFoldersIn, listCascadeFiles } from "../../ide/cascades/cascade-files.ts";
import { type CascadeJournal, type LastAsk, openCascadeJournal } from "../../ide/cascades/cascade-journal.ts";
import type { Ide } from "../../ide/ide.ts";
import type { TrajectoryNotes } from "../../turns/continuity/orphaned-trajectories.ts";
import type { Settings } from "../settings.ts";

/** A conversation that Millrace began. */
export interface OwnConversation extends Partial<LastAsk> {
  readonly cascadeId: CascadeId;
  /** When it was begun or used last, epoch ms. */
  readonly atMs: number;
  /** Of an IDE, and the IDE that has it open now. Of an agent's session only the agent knows the place and size. */
  readonly file?: CascadeFile & { readonly startedAtMs: number; readonly ide: Ide | undefined };
}

/** Where the ids of conversations that Millrace began are noted. */
export function openOwnJournal(settings: Settings): CascadeJournal {
  return openCascadeJournal(settings.journalFile);
}

/**
 * Notes in the journal what happens to the trajectories of one process's turns: line after line in their order. A line that fails is
 * left out. `owner` names the process.
 */
export function trajectoryNotes(journal: CascadeJournal, owner: string, clock: Clock): TrajectoryNotes {
  let last: Promise<void> = Promise.resolve(); // the journal writes its lines in the order of the calls
  const note = (written: Promise<void>) => (last = bestEffort(written));
  return {
    kept: (cascadeId, untilMs) => note(journal.noteKept(cascadeId, untilMs)),
    taken: (cascadeId) => void note(journal.noteTaken({ cascadeId, atMs: clock.now(), owner })),
    asked: (cascadeId, turn) => void note(journal.noteAsked(cascadeId, turn)),
    archived: (cascadeId) => void note(journal.noteArchived(cascadeId)),
    async left() {
      await last;
      return journal.left();
    },
  };
}

/** The conversations on disk: ours one by one, the least recently used first, and the IDE's own only counted. */
export type CascadesOnDisk = Awaited<ReturnType<typeof readCascades>>;

/** Looks through the folders of the IDEs that run, and of the homes given. */
export async function readCascades(journal: CascadeJournal, ides: readonly Ide[], homes: readonly string[]) {
  const noted = new Map((await journal.entries()).map((entry) => [entry.cascadeId, entry]));
  const ideOf = new Map(
    ides.flatMap((ide) => (ide.codeiumFolder === undefined ? [] : [[ide.codeiumFolder, ide] as const])),
  );
  const folders = new Set([...ideOf.keys(), ...homes.flatMap(codeiumFoldersIn)]);
  const own: OwnConversation[] = [];
  const others = { files: 0, bytes: 0 };
  for (const folder of folders) {
    for (const file of await listCascadeFiles(folder)) {
      const entry = noted.get(file.cascadeId);
      if (entry !== undefined) {
        const atMs = Math.max(entry.atMs, file.modifiedAtMs);
        own.push({ ...entry, atMs, file: { ...file, startedAtMs: entry.atMs, ide: ideOf.get(folder) } });
      } else {
        others.files++;
        others.bytes += file.bytes;
      }
    }
  }
  return { own: own.toSorted((a, b) => a.atMs - b.atMs), others };
}

/** The sessions of agents that Millrace began and that are not known to be archived, oldest first. */
export async function readSessions(journal: CascadeJournal): Promise<readonly OwnConversation[]> {
  const left = (await journal.left()).filter(({ cascadeId }) => cascadeId.startsWith("acp:"));
  const noted = new Map((await journal.entries()).map((entry) => [entry.cascadeId, entry]));
  return left
    .map(({ cascadeId, atMs }) => ({ ...noted.get(cascadeId), cascadeId, atMs }))
    .sort((a, b) => a.atMs - b.atMs);
}

/** How much disk they take. */
export function bytesOf(conversations: readonly OwnConversation[]): number {
  return conversations.reduce((sum, { file }) => sum + (file?.bytes ?? 0), 0);
}
