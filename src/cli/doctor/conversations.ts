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
  type CascadesOnDisk,
  lastUsedMs,
  type OwnCascade,
  type OwnSession,
  olderThan,
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
  await withConversations(options, context, async ({ own, others, sessions }, finder) => {
    const { out, io } = context;
    const isOld = ({ atMs }: OwnSession) => olderMs !== undefined && atMs < io.clock.now() - olderMs;
    const old = olderMs === undefined ? [] : olderThan(own, olderMs, io.clock);
    const oldSessions = sessions.filter(isOld);
    const [kept] = await removeConversations({ own: old, sessions: oldSessions }, finder, context);
    if (kept !== undefined) throw kept.error;
    const left = {
      data: own.filter((cascade) => !old.includes(cascade)).map(shown),
      sessions: sessions.filter((session) => !isOld(session)).map(shownSession),
    };
    if (options.json) {
      const deleted = { data: old.map(shown), sessions: oldSessions.map(shownSession) };
      return out.json({ ...left, others, ...(olderMs === undefined ? {} : { deleted }) });
    }
    if (olderMs !== undefined) return report(old, oldSessions, context);
    printAll(own, sessions, context);
    if (others.files > 0) {
      const theirs = spellCount(others.files, "conversation");
      out.note(`Not counted: ${theirs} of the IDE itself (${spellBytes(others.bytes)}).`);
    }
  });
}

function report(old: readonly OwnCascade[], oldSessions: readonly OwnSession[], { out }: CommandContext): void {
  if (old.length + oldSessions.length === 0) return out.note("There is nothing to delete.");
  const bytes = old.reduce((sum, cascade) => sum + cascade.bytes, 0);
  const ofAgents = oldSessions.length === 0 ? "" : `, and ${spellCount(oldSessions.length, "session")} of agents`;
  out.line(`Deleted: ${spellCount(old.length, "conversation")}, ${spellBytes(bytes)}${ofAgents}.`);
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
function printAll(cascades: readonly OwnCascade[], sessions: readonly OwnSession[], { out, io }: CommandContext): void {
  const ofIdes = cascades.map((cascade) => ({
    ...cascade,
    atMs: lastUsedMs(cascade),
    size: spellBytes(cascade.bytes),
    keeper: cascade.ide === undefined ? "a file" : productName(cascade.ide.variant, cascade.ide.build),
  }));
  const ofAgents = sessions.map((session) => ({ ...session, size: "", keeper: "an agent" }));
  const all = [...ofIdes, ...ofAgents].toSorted((a, b) => a.atMs - b.atMs);
  if (all.length === 0) return out.note("Millrace has no conversation in an IDE.");
  printConversations(all, io.clock.now(), out);
}

export function printConversations(
  conversations: readonly (Omit<OwnSession, "cascadeId"> & Readonly<Record<"cascadeId" | "size" | "keeper", string>>)[],
  nowMs: number,
  out: Output,
): void {
  const rows = conversations.map(({ cascadeId, atMs, model = "", client = "", size, keeper }) => [
    cascadeId,
    `${spellAge(nowMs - atMs)} ago`,
    model,
    client,
    size,
    keeper,
  ]);
  printTable(columns, rows, out);
}

function shownSession({ cascadeId, atMs, model, client }: OwnSession): object {
  const used_at = new Date(atMs).toISOString();
  return { session_id: cascadeId, used_at, model: model ?? null, client: client ?? null };
}

function shown({ cascadeId, path, bytes, startedAtMs, modifiedAtMs, ide, model, client }: OwnCascade): object {
  return {
    cascade_id: cascadeId,
    file: path,
    bytes,
    started_at: new Date(startedAtMs).toISOString(),
    modified_at: new Date(modifiedAtMs).toISOString(),
    open_in: ide?.id ?? null,
    model: model ?? null,
    client: client ?? null,
  };
}

/** The conversations on disk, and the sessions of agents. */
type Conversations = CascadesOnDisk & { readonly sessions: readonly OwnSession[] };

/** A conversation that could not be deleted: its file, or the id of an agent's session. */
interface KeptConversation {
  readonly what: string;
  readonly error: MillraceError;
}

/** Looks for the conversations that Millrace began, with the IDEs that have them open. */
export async function withConversations<T>(
  options: IdeOptions,
  { io, settings, signal }: CommandContext,
  use: (found: Conversations, finder: IdeFinder) => Promise<T>,
): Promise<T> {
  return withFinder(io, options, async (finder, { homes }) => {
    const { ides } = await finder.find(signal);
    const journal = openOwnJournal(settings);
    const cascades = await readCascades(journal, ides, [io.homeFolder, ...homes]);
    return use({ ...cascades, sessions: await readSessions(journal) }, finder);
  });
}

/** Deletes these conversations and forgets them. Answers those that stay, each with its reason; their notes stay too. */
export async function removeConversations(
  { own, sessions }: Pick<Conversations, "own" | "sessions">,
  finder: IdeFinder,
  context: CommandContext,
): Promise<readonly KeptConversation[]> {
  const { io, settings, signal } = context;
  const removed: CascadeId[] = [];
  const kept: KeptConversation[] = [];
  const attempt = async (cascadeId: CascadeId, what: string, remove: () => Promise<void>) => {
    try {
      await remove();
      removed.push(cascadeId);
    } catch (error) {
      signal.throwIfAborted();
      kept.push({ what, error: fileProblem(error) ?? toMillraceError(error) });
    }
  };
  const upstream =
    sessions.length === 0
      ? undefined
      : composeUpstream({ io, finder, backend: "auto", acpCommand: environmentOptions(io.env).acpCommand });
  try {
    for (const cascade of own)
      await attempt(cascade.cascadeId, cascade.path, () => removeCascade(cascade, finder, context));
    for (const { cascadeId } of sessions)
      await attempt(cascadeId, cascadeId, async () => {
        const holder = await upstream?.backends.holding({ backend: "acp", cascadeId }, signal);
        await holder?.archive(cascadeId, signal);
      });
  } finally {
    await upstream?.agents.close();
    await openOwnJournal(settings).forget(removed);
  }
  return kept;
}

/** Through the server that has it open, else as a file. */
async function removeCascade(cascade: OwnCascade, finder: IdeFinder, { io, signal }: CommandContext): Promise<void> {
  if (cascade.ide !== undefined) {
    const { endpoint } = await finder.connect(cascade.ide, signal); // checks who listens there before the token is sent
    await deleteCascades(endpoint, [cascade.cascadeId], { nowMs: io.clock.now() }, signal);
  }
  await removeCascadeFile(cascade);
}
