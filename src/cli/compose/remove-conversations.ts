import { type MillraceError, toMillraceError } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";
import { fileProblem } from "../../base/node/file-problem.ts";
import { removeCascadeFile } from "../../ide/cascades/cascade-files.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import { deleteCascades } from "../../language-server/delete-cascade.ts";
import type { CommandContext } from "../command.ts";
import { type IdeOptions, overridesOf } from "../serve/gateway-options.ts";
import { composeIdeFinder } from "./compose-ide.ts";
import { composeUpstream } from "./compose-upstream.ts";
import {
  type CascadesOnDisk,
  type OwnCascade,
  type OwnSession,
  openOwnJournal,
  readCascades,
  readSessions,
} from "./own-cascades.ts";

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
  const overrides = overridesOf(io, options);
  const finder = composeIdeFinder(io, overrides);
  try {
    const { ides } = await finder.find(signal);
    const journal = openOwnJournal(settings);
    const cascades = await readCascades(journal, ides, [io.homeFolder, ...overrides.homes]);
    return await use({ ...cascades, sessions: await readSessions(journal) }, finder);
  } finally {
    finder.close();
  }
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
