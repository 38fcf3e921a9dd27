import { type MillraceError, toMillraceError } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";
import { fileProblem } from "../../base/node/file-problem.ts";
import { removeCascadeFile } from "../../ide/cascades/cascade-files.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import { deleteCascades } from "../../language-server/delete-cascade.ts";
import { productName } from "../../language-server/product-name.ts";
import { type CommandContext, defineCommand } from "../command.ts";
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
import { spellAge, spellBytes, spellCount } from "../doctor/spell.ts";
import { duration, flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { gatewayOptions, type IdeOptions } from "../serve/gateway-options.ts";
import { type Column, printTable } from "../terminal/table.ts";

const ideOptions = {
  ide: gatewayOptions.ide,
  endpoint: gatewayOptions.endpoint,
  tokenFile: gatewayOptions.tokenFile,
} as const;

const listCommand = defineCommand({
  name: "list",
  summary: "List the conversations that Millrace made in the IDE, and their size on disk",
  options: {
    wide: flag("show all columns, even on a narrow terminal"),
    json: flag("print JSON"),
    ...ideOptions,
  },
  examples: [["millrace cascades list", "the least recently used first"]],
  async run({ options }, context) {
    await withConversations(options, context, async ({ own, others, sessions }) => {
      const { out } = context;
      if (options.json) {
        out.json({ data: own.map((cascade) => shown(cascade)), others, sessions: sessions.map(shownSession) });
        return;
      }
      printAll(own, sessions, options.wide, context);
      if (others.files > 0) {
        const theirs = spellCount(others.files, "conversation");
        out.note(`Not counted: ${theirs} of the IDE itself (${spellBytes(others.bytes)}).`);
      }
    });
  },
});

const cleanCommand = defineCommand({
  name: "clean",
  summary: "Delete old conversations that Millrace made in the IDE",
  description:
    "Shows which conversations would be deleted; --yes deletes them. Only conversations of Millrace that did not change for the given time are deleted. If an IDE has them open, Millrace asks that IDE to delete them.",
  options: {
    older: duration("delete conversations that did not change for this time", 86_400_000, { defaultText: "1d" }),
    yes: flag("delete them (without it, nothing is changed)", { short: "y" }),
    json: flag("print JSON"),
    ...ideOptions,
  },
  examples: [
    ["millrace cascades clean", "what would be deleted"],
    ["millrace cascades clean --older 12h --yes", "delete what is older than 12 hours"],
  ],
  async run({ options }, context) {
    await withConversations(options, context, async ({ own, sessions }, finder) => {
      const { out, io } = context;
      const old = olderThan(own, options.older, io.clock);
      const oldSessions = sessions.filter(({ atMs }) => atMs < io.clock.now() - options.older);
      const [kept] = options.yes ? await removeConversations({ own: old, sessions: oldSessions }, finder, context) : [];
      if (kept !== undefined) throw kept.error;
      const data = old.map((cascade) => shown(cascade));
      if (options.json) out.json({ deleted: options.yes, data, sessions: oldSessions.map(shownSession) });
      else report(old, oldSessions, options.yes, context);
    });
  },
});

export const cascadesCommand = defineCommand({
  ...outlines.cascades,
  options: {},
  subcommands: [listCommand, cleanCommand],
  examples: [["millrace cascades clean", "what would be deleted"]],
  run: (input, context) => listCommand.run({ ...input, options: { wide: false, json: false } }, context),
});

function report(
  old: readonly OwnCascade[],
  sessions: readonly OwnSession[],
  deleted: boolean,
  context: CommandContext,
): void {
  const { out } = context;
  const bytes = old.reduce((sum, cascade) => sum + cascade.bytes, 0);
  if (old.length === 0 && sessions.length === 0) return out.note("There is nothing to delete.");
  if (!deleted) printAll(old, sessions, false, context);
  const ofAgents = sessions.length === 0 ? "" : `, and ${spellCount(sessions.length, "session")} of agents`;
  const what = `${spellCount(old.length, "conversation")}, ${spellBytes(bytes)}${ofAgents}`;
  out.line(deleted ? `Deleted: ${what}.` : `Would delete: ${what}. Nothing was changed; \`--yes\` deletes.`);
}

const columns: readonly Column[] = [
  { title: "CONVERSATION" }, // no command takes its id, so it may be cut
  { title: "LAST USED", align: "right" },
  { title: "MODEL", drop: 1 },
  { title: "CLIENT", drop: 3 },
  { title: "SIZE", align: "right", drop: 2 },
  { title: "KEPT BY", drop: 4 },
];

/** The least recently used first. */
function printAll(
  cascades: readonly OwnCascade[],
  sessions: readonly OwnSession[],
  wide: boolean,
  { out, io }: CommandContext,
): void {
  const ofIdes = cascades.map((cascade) => ({
    ...cascade,
    atMs: lastUsedMs(cascade),
    size: spellBytes(cascade.bytes),
    keeper: cascade.ide === undefined ? "a file" : productName(cascade.ide.variant, cascade.ide.build),
  }));
  const ofAgents = sessions.map((session) => ({ ...session, size: "", keeper: "an agent" }));
  const rows = [...ofIdes, ...ofAgents]
    .toSorted((a, b) => a.atMs - b.atMs)
    .map(({ cascadeId, atMs, model = "", client = "", size, keeper }) => [
      cascadeId,
      `${spellAge(io.clock.now() - atMs)} ago`,
      model,
      client,
      size,
      keeper,
    ]);
  if (rows.length === 0) return out.note("Millrace has no conversation in an IDE.");
  printTable(columns, rows, out, wide);
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
    sessions.length === 0 ? undefined : composeUpstream({ io, finder, backend: "auto", acpCommand: undefined });
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
