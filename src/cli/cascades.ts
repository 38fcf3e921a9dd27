import type { CascadeId } from "../base/ids.ts";
import { removeCascadeFile } from "../ide/cascade-files.ts";
import type { IdeFinder } from "../ide/ide.ts";
import { deleteCascades } from "../language-server/delete-cascade.ts";
import { type CommandContext, defineCommand } from "./command.ts";
import { composeIdeFinder } from "./compose-ide.ts";
import { spellAge, spellBytes, spellCount } from "./doctor/spell.ts";
import { overridesOf } from "./ide-options.ts";
import { duration, flag } from "./options.ts";
import { outlines } from "./outlines.ts";
import { type CascadesOnDisk, type OwnCascade, olderThan, openOwnJournal, readCascades } from "./own-cascades.ts";
import { gatewayOptions } from "./serve.ts";

const ideOptions = {
  ide: gatewayOptions.ide,
  endpoint: gatewayOptions.endpoint,
  tokenFile: gatewayOptions.tokenFile,
} as const;

const listCommand = defineCommand({
  name: "list",
  summary: "List the conversations that Millrace began in the IDE, with what they take on disk",
  group: "Look",
  options: { json: flag("print JSON"), ...ideOptions },
  examples: [["millrace cascades list", "oldest first"]],
  async run({ options }, context) {
    await withCascades(options, context, async ({ own, others }) => {
      const { out } = context;
      if (options.json) {
        out.json({ data: own.map((cascade) => shown(cascade)), others });
        return;
      }
      printAll(own, context);
      if (others.files > 0) {
        const theirs = spellCount(others.files, "conversation");
        out.note(`Left alone: ${theirs} of the IDE's own (${spellBytes(others.bytes)}).`);
      }
    });
  },
});

const cleanCommand = defineCommand({
  name: "clean",
  summary: "Delete old conversations that Millrace began in the IDE",
  description:
    "Shows what would go; --yes deletes it, for good. Only conversations that Millrace began are ever touched, and only those that nothing has been written to for the given time. An IDE that has them open is asked to delete them itself.",
  group: "Set up",
  options: {
    older: duration("not begun or written to for this long", 86_400_000, { defaultText: "1d" }),
    yes: flag("delete; without it nothing is changed", { short: "y" }),
    json: flag("print JSON"),
    ...ideOptions,
  },
  examples: [
    ["millrace cascades clean", "what would go"],
    ["millrace cascades clean --older 12h --yes", "delete what is older than 12 hours"],
  ],
  async run({ options }, context) {
    await withCascades(options, context, async ({ own }, finder) => {
      const { out, io } = context;
      const old = olderThan(own, options.older, io.clock);
      if (options.yes) await remove(old, finder, context);
      if (options.json) out.json({ deleted: options.yes, data: old.map((cascade) => shown(cascade)) });
      else report(old, options.yes, context);
    });
  },
});

export const cascadesCommand = defineCommand({
  ...outlines.cascades,
  options: {},
  subcommands: [listCommand, cleanCommand],
  examples: [["millrace cascades clean", "what would go"]],
  run: (_, context) =>
    listCommand.run(
      { options: { json: false, ide: undefined, endpoint: undefined, tokenFile: undefined }, args: [] },
      context,
    ),
});

async function withCascades(
  options: Parameters<typeof overridesOf>[1],
  { io, settings, signal }: CommandContext,
  use: (cascades: CascadesOnDisk, finder: IdeFinder) => Promise<void>,
): Promise<void> {
  const overrides = overridesOf(io, options);
  const finder = composeIdeFinder(io, overrides);
  try {
    const { ides } = await finder.find(signal);
    await use(await readCascades(openOwnJournal(settings), ides, [io.homeFolder, ...overrides.homes]), finder);
  } finally {
    finder.close();
  }
}

/** Through the server that has them open, else as files; then they are forgotten. */
async function remove(old: readonly OwnCascade[], finder: IdeFinder, context: CommandContext): Promise<void> {
  const { io, settings, signal } = context;
  const removed: CascadeId[] = [];
  try {
    for (const cascade of old) {
      if (cascade.ide !== undefined) {
        const { endpoint } = await finder.connect(cascade.ide, signal); // checks who listens there before the token is sent
        await deleteCascades(endpoint, [cascade.cascadeId], { nowMs: io.clock.now() }, signal);
      }
      await removeCascadeFile(cascade);
      removed.push(cascade.cascadeId);
    }
  } finally {
    await openOwnJournal(settings).forget(removed);
  }
}

function report(old: readonly OwnCascade[], deleted: boolean, context: CommandContext): void {
  const { out } = context;
  const bytes = old.reduce((sum, cascade) => sum + cascade.bytes, 0);
  if (old.length === 0) {
    out.note("There is nothing to delete.");
    return;
  }
  if (!deleted) printAll(old, context);
  const what = `${spellCount(old.length, "conversation")}, ${spellBytes(bytes)}`;
  out.line(deleted ? `Deleted: ${what}.` : `Would delete: ${what}. Nothing was changed; \`--yes\` deletes.`);
}

function printAll(cascades: readonly OwnCascade[], { out, io }: CommandContext): void {
  const nowMs = io.clock.now();
  for (const { cascadeId, bytes, startedAtMs, modifiedAtMs } of cascades) {
    const age = spellAge(nowMs - Math.max(startedAtMs, modifiedAtMs));
    out.line(`${cascadeId}  ${spellBytes(bytes).padStart(9)}  ${age} old`);
  }
  if (cascades.length === 0) out.note("Millrace has no conversation in an IDE.");
}

function shown({ cascadeId, path, bytes, startedAtMs, modifiedAtMs, ide }: OwnCascade): object {
  return {
    cascade_id: cascadeId,
    file: path,
    bytes,
    started_at: new Date(startedAtMs).toISOString(),
    modified_at: new Date(modifiedAtMs).toISOString(),
    open_in: ide?.id ?? null,
  };
}
