import { type MillraceError, toMillraceError } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";
import { fileProblem } from "../../base/node/file-problem.ts";
import { removeCascadeFile } from "../../ide/cascades/cascade-files.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import { deleteCascades } from "../../language-server/delete-cascade.ts";
import { productName } from "../../language-server/product-name.ts";
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
import type { Output } from "../terminal/output.ts";
import { spellAge, spellBytes, spellCount } from "../terminal/spell.ts";
import { type Column, printTable } from "../terminal/table.ts";

/**
 * Lists the conversations that Millrace began and that are still in an IDE or an agent. With `olderMs`, deletes those that did not
 * change for that long. They cannot be restored. The IDE's own are only counted.
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
    if (own.length === 0) out.note("Millrace has no conversation in an IDE.");
    else printConversations(own, io.clock.now(), out);
    if (others.files > 0) {
      const theirs = spellCount(others.files, "conversation");
      out.note(`Not counted: ${theirs} of the IDE itself (${spellBytes(others.bytes)}).`);
    }
  });
}

function report(old: readonly OwnConversation[], { out }: CommandContext): void {
  if (old.length === 0) return out.note("There is nothing to delete.");
  const sessions = old.filter(({ file }) => file === undefined).length;
  const ofAgents = sessions === 0 ? "" : `, and ${spellCount(sessions, "session")} of agents`;
  out.line(`Deleted: ${spellCount(old.length - sessions, "conversation")}, ${spellBytes(bytesOf(old))}${ofAgents}.`);
}

const columns: readonly Column[] = [
  { title: "CONVERSATION", narrow: 12 }, // no command takes its id, so it may be cut
  { title: "LAST USED", align: "right", whole: true },
  { title: "MODEL", narrow: 14, drop: 1 },
  { title: "CLIENT", narrow: 10, drop: 3 },
  { title: "SIZE", align: "right", whole: true, drop: 2 },
  { title: "KEPT BY", narrow: 8, drop: 4 },
];

/** The least recently used first. */
function printConversations(conversations: readonly OwnConversation[], nowMs: number, out: Output): void {
  const keeperOf = ({ file }: OwnConversation) =>
    file === undefined ? "an agent" : file.ide === undefined ? "a file" : productName(file.ide.variant, file.ide.build);
  const rows = conversations
    .toSorted((a, b) => a.atMs - b.atMs)
    .map((each) => {
      const { cascadeId, atMs, model = "", client = "", file } = each;
      const size = file === undefined ? "" : spellBytes(file.bytes);
      return [cascadeId, `${spellAge(nowMs - atMs)} ago`, model, client, size, keeperOf(each)];
    });
  printTable(columns, rows, out);
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
