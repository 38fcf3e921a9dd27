import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { CascadeId } from "../../base/ids.ts";
import { type CascadeFile, codeiumFoldersIn, listCascadeFiles } from "../../ide/cascades/cascade-files.ts";
import { type CascadeJournal, type LastAsk, openCascadeJournal } from "../../ide/cascades/cascade-journal.ts";
import type { Ide } from "../../ide/ide.ts";
import type { TrajectoryNotes } from "../../turns/continuity/orphaned-trajectories.ts";
import type { Settings } from "../settings.ts";

/** A conversation in an IDE that Millrace began. */
export interface OwnCascade extends CascadeFile, Partial<LastAsk> {
  readonly startedAtMs: number;
  /** The IDE that has it open now. */
  readonly ide: Ide | undefined;
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
  const own: OwnCascade[] = [];
  const others = { files: 0, bytes: 0 };
  for (const folder of folders) {
    for (const file of await listCascadeFiles(folder)) {
      const entry = noted.get(file.cascadeId);
      if (entry !== undefined) {
        const { atMs: startedAtMs, ...asked } = entry;
        own.push({ ...asked, ...file, startedAtMs, ide: ideOf.get(folder) });
      } else {
        others.files++;
        others.bytes += file.bytes;
      }
    }
  }
  const sorted: readonly OwnCascade[] = own.sort((a, b) => lastUsedMs(a) - lastUsedMs(b));
  return { own: sorted, others };
}

/** A session of an agent program that Millrace began and that is not known to be archived. */
export interface OwnSession extends Partial<LastAsk> {
  readonly cascadeId: CascadeId;
  /** When it was begun or used last, epoch ms. */
  readonly atMs: number;
}

/** The sessions of agents that are left, oldest first. Only the agents know their size on disk. */
export async function readSessions(journal: CascadeJournal): Promise<readonly OwnSession[]> {
  const left = (await journal.left()).filter(({ cascadeId }) => cascadeId.startsWith("acp:"));
  const noted = new Map((await journal.entries()).map((entry) => [entry.cascadeId, entry]));
  return left
    .map(({ cascadeId, atMs }) => ({ ...noted.get(cascadeId), cascadeId, atMs }))
    .sort((a, b) => a.atMs - b.atMs);
}

/** When it was begun or written to last, epoch ms. */
export function lastUsedMs({ startedAtMs, modifiedAtMs }: OwnCascade): number {
  return Math.max(startedAtMs, modifiedAtMs);
}

/** Cascades without a start or a write for that long. */
export function olderThan(cascades: readonly OwnCascade[], ageMs: number, clock: Clock): readonly OwnCascade[] {
  const before = clock.now() - ageMs;
  return cascades.filter((cascade) => lastUsedMs(cascade) < before);
}
