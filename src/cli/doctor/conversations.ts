import { type MillraceError, toMillraceError } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";
import { fileProblem } from "../../base/node/file-problem.ts";
import { removeCascadeFile } from "../../ide/cascades/cascade-files.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import { deleteCascades } from "../../language-server/delete-cascade.ts";
import type { CommandContext } from "../command.ts";
import { withFinder } from "../compose/compose-ide.ts";
import { composeUpstream } from "../compose/compose-upstream.ts";
import {
  bytesOf,
  type CascadesOnDisk,
  type OwnConversation,
  openOwnJournal,
  readCascades,
  readSessions,
} from "../compose/own-cascades.ts";
import { environmentOptions, type IdeOptions } from "../serve/gateway-options.ts";
import { spellBytes, spellCount } from "../terminal/spell.ts";

/**
 * Counts the conversations that Millrace began and that are still in an IDE or an agent; as JSON it lists them. With `olderMs`, deletes
 * those that did not change for that long. They cannot be restored. The IDE's own are only counted.
 *
 * @throws MillraceError the first error of a deletion, after the others were tried.
 */
export async function showConversations(
  options: IdeOptions & { readonly json: boolean },
  olderMs: number | undefined,
  context: CommandContext,
): Promise<void> {
  await withConversations(options, context, async ({ own, others }, finder) => {
    const { out, io } = context;
    const old = own.filter(({ atMs }) => olderMs !== undefined && atMs < io.clock.now() - olderMs);
    const [kept] = await removeConversations(old, finder, context);
    if (kept !== undefined) throw kept.error;
    if (options.json) {
      const left = own.filter((each) => !old.includes(each));
      return out.json({ ...shown(left), others, ...(olderMs === undefined ? {} : { deleted: shown(old) }) });
    }
    if (olderMs !== undefined) return report(old, context);
    out.line(`${spellConversations({ own, others })}.`);
  });
}

/** How many there are, and what they take on disk: ours and the IDE's own. */
export function spellConversations({ own, others }: CascadesOnDisk): string {
  const taken = (files: number, bytes: number) => `${spellCount(files, "conversation")} (${spellBytes(bytes)} on disk)`;
  const ours =
    own.length === 0
      ? "No conversation of Millrace is left in the IDE"
      : `${taken(own.length, bytesOf(own))} of Millrace ${own.length === 1 ? "is" : "are"} in the IDE`;
  return others.files === 0 ? ours : `${ours}; ${taken(others.files, others.bytes)} are the IDE's own`;
}

function report(old: readonly OwnConversation[], { out }: CommandContext): void {
  if (old.length === 0) return out.note("There is nothing to delete.");
  const sessions = old.filter(({ file }) => file === undefined).length;
  const ofAgents = sessions === 0 ? "" : `, and ${spellCount(sessions, "session")} of agents`;
  out.line(`Deleted: ${spellCount(old.length - sessions, "conversation")}, ${spellBytes(bytesOf(old))}${ofAgents}.`);
}

/** As JSON: those of IDEs, and the sessions of agents. */
function shown(conversations: readonly OwnConversation[]) {
  const instant = (atMs: number) => new Date(atMs).toISOString();
  const all = conversations.map(({ cascadeId, atMs, model = null, client = null, file }) =>
    file === undefined
      ? { session_id: cascadeId, used_at: instant(atMs), model, client }
      : {
          cascade_id: cascadeId,
          file: file.path,
          bytes: file.bytes,
          started_at: instant(file.startedAtMs),
          modified_at: instant(file.modifiedAtMs),
          open_in: file.ide?.id ?? null,
          model,
          client,
        },
  );
  return { data: all.filter((each) => "cascade_id" in each), sessions: all.filter((each) => "session_id" in each) };
}

/** Looks for the conversations that Millrace began, with the IDEs that have them open. */
export async function withConversations<T>(
  options: IdeOptions,
  { io, settings, signal }: CommandContext,
  use: (found: CascadesOnDisk, finder: IdeFinder) => Promise<T>,
): Promise<T> {
  return withFinder(io, options, async (finder, { homes }) => {
    const { ides } = await finder.find(signal);
    const journal = openOwnJournal(settings);
    const { own, others } = await readCascades(journal, ides, [io.homeFolder, ...homes]);
    return use({ own: [...own, ...(await readSessions(journal))], others }, finder);
  });
}

/** Deletes these conversations and forgets them. Answers those that stay, each with its reason; their notes stay too. */
export async function removeConversations(
  conversations: readonly OwnConversation[],
  finder: IdeFinder,
  context: CommandContext,
): Promise<readonly { readonly what: string; readonly error: MillraceError }[]> {
  const { io, settings, signal } = context;
  const removed: CascadeId[] = [];
  const kept: { readonly what: string; readonly error: MillraceError }[] = [];
  const { acpCommand } = environmentOptions(io.env);
  const upstream = conversations.some(({ file }) => file === undefined)
    ? composeUpstream({ io, finder, backend: "auto", acpCommand })
    : undefined;
  try {
    for (const { cascadeId, file } of conversations) {
      try {
        if (file !== undefined) await removeCascade(file, finder, context);
        else {
          const holder = await upstream?.backends.holding({ backend: "acp", cascadeId }, signal);
          await holder?.archive(cascadeId, signal);
        }
        removed.push(cascadeId);
      } catch (error) {
        signal.throwIfAborted();
        kept.push({ what: file?.path ?? cascadeId, error: fileProblem(error) ?? toMillraceError(error) });
      }
    }
  } finally {
    await upstream?.agents.close();
    await openOwnJournal(settings).forget(removed);
  }
  return kept;
}

/** Through the server that has it open, else as a file. */
async function removeCascade(
  file: NonNullable<OwnConversation["file"]>,
  finder: IdeFinder,
  { io, signal }: CommandContext,
): Promise<void> {
  if (file.ide !== undefined) {
    const { endpoint } = await finder.connect(file.ide, signal); // checks who listens there before the token is sent
    await deleteCascades(endpoint, [file.cascadeId], { nowMs: io.clock.now() }, signal);
  }
  await removeCascadeFile(file);
}
