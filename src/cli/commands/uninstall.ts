import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { endHosts } from "../../backends/acp/host/hosts.ts";
import { isMillraceError } from "../../base/errors.ts";
import { fileProblem } from "../../base/node/file-problem.ts";
import { remove } from "../../base/node/move-file.ts";
import { removeEmptyFolders } from "../../base/node/remove-empty-folders.ts";
import { removeLinks } from "../../base/node/socket-address.ts";
import { hostsFolder } from "../agents/agent-spec.ts";
import { planUndo, undoChanges } from "../clients/applied.ts";
import { setUpClients } from "../clients/installed.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { cacheFolder } from "../compile-cache.ts";
import { bytesOf } from "../compose/own-cascades.ts";
import { removeConversations, withConversations } from "../doctor/conversations.ts";
import { holderOf, stopMs } from "../gateway-process/home.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { isServiceInstalled } from "../service/service-spec.ts";
import { isOwnFile } from "../settings.ts";
import { agrees } from "../terminal/ask-yes.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { spellBytes, spellCount } from "../terminal/spell.ts";
import { actOnService } from "./service.ts";
import { stopGateway } from "./stop.ts";
import { filesOutside, installationHere, removalOf } from "./update.ts";

/** One thing to remove. `take` answers what stays, and why. */
interface Step {
  readonly plan: string;
  readonly take: () => Promise<readonly string[]>;
}

export const uninstallCommand = defineCommand({
  ...outlines.uninstall,
  description:
    "Stops the gateway and its service, restores the settings of the clients, deletes the conversations that Millrace began in the IDE, and deletes Millrace's files. Shows this and asks first. What stays is listed with the reason; the exit code is 1 then.",
  options: { yes: flag("do it without asking", { short: "y" }) },
  examples: [
    ["millrace uninstall", "shows what would be removed, and asks"],
    ["millrace uninstall --yes", "without asking"],
  ],
  async run({ options }, context) {
    const { out } = context;
    const program = installationHere();
    const steps = await stepsOf(context);
    out.line("Millrace will:");
    for (const [at, { plan }] of steps.entries()) out.prose(`  ${at + 1}.  ${plan}`);
    if (!options.yes && !(await agrees("Do this? It cannot be undone.", "Nothing was removed", context)))
      return exitCodes.ok;
    const left: string[] = [];
    for (const { take } of steps) {
      try {
        left.push(...(await take()));
      } catch (error) {
        context.signal.throwIfAborted();
        left.push(why(error)); // the steps after it do not need it
      }
    }
    out.line(left.length === 0 ? "Removed." : "Removed, but for:");
    for (const line of left) out.prose(`  ${line}`);
    out.line(`The program itself: ${removalOf(program)}.`);
    return left.length === 0 ? exitCodes.ok : exitCodes.negative;
  },
});

async function stepsOf(context: CommandContext): Promise<readonly Step[]> {
  const { io, settings } = context;
  const { folder } = settings;
  const cache = join(cacheFolder(io.env, io.platform, io.homeFolder), "millrace");
  const gateway = holderOf(settings.gatewayFile);
  const clients = setUpClients(folder);
  const { own } = await withConversations({}, context, (found) => Promise.resolve(found));
  const steps: readonly (Step | false)[] = [
    isServiceInstalled(context) === true && {
      plan: "Stop the service and remove it",
      take: () => actOnService("uninstall", context).then(() => []),
    },
    gateway !== undefined && {
      plan: `Stop the gateway at ${gateway.url ?? gateway.socket ?? "its start"}`,
      take: () => stopGateway(stopMs, context).then(() => []),
    },
    clients.length > 0 && {
      plan: `Restore the earlier settings of ${clients.join(", ")}`,
      take: () => Promise.resolve(clients.flatMap((client) => restored(client, context))),
    },
    own.length > 0 && {
      plan: `Delete ${spellCount(own.length, "conversation")} that Millrace began (${spellBytes(bytesOf(own))})`,
      take: () =>
        withConversations({}, context, async ({ own }, finder) => {
          const kept = await removeConversations(own, finder, context);
          return kept.map(({ what, error }) => `${what}: ${why(error)}`);
        }),
    },
    existsSync(folder) && {
      plan: `Delete Millrace's files in ${folder}: key, settings, answers, use`,
      async take() {
        await endHosts(hostsFolder(folder));
        removeLinks(hostsFolder(folder));
        return filesLeft(context);
      },
    },
    existsSync(cache) && {
      plan: `Delete ${cache}`,
      async take() {
        await remove(cache, { recursive: true });
        removeEmptyFolders(dirname(cache), io.homeFolder);
        return [];
      },
    },
    ...filesOutside().map((file) => ({ plan: `Delete ${file}`, take: () => remove(file).then(() => []) })),
  ];
  return steps.filter((step) => step !== false);
}

function restored(client: string, { io, settings: { folder } }: CommandContext): readonly string[] {
  try {
    undoChanges({ folder, home: io.homeFolder }, client, planUndo(folder, client));
    return [];
  } catch (error) {
    return [`the settings of ${client}: ${why(error)}`];
  }
}

/** What failed, and what to do. An error that is not ours is the file system's, and names its file. */
function why(error: unknown): string {
  if (isMillraceError(error)) return `${error.message} ${error.hint}`;
  return fileProblem(error)?.message ?? String(error);
}

/** Deletes Millrace's own files. The notes of conversations stay while there are any, and so do the records of clients. */
async function filesLeft(context: CommandContext): Promise<readonly string[]> {
  const { settings } = context;
  const { folder, journalFile } = settings;
  const journal = basename(journalFile);
  const { own } = await withConversations({}, context, (found) => Promise.resolve(found));
  const kept = new Set<string>();
  if (own.length > 0) kept.add(journal);
  if (setUpClients(folder).length > 0) kept.add("setup");
  const failed: string[] = [];
  for (const name of readdirSync(folder)) {
    if (kept.has(name) || !isOwnFile(name)) continue;
    try {
      await remove(join(folder, name), { recursive: true });
    } catch (error) {
      failed.push(why(error));
    }
  }
  removeEmptyFolders(folder, dirname(folder));
  const outside = [settings.keyFile, settings.logKeyFile].filter(
    (file) => dirname(file) !== folder && existsSync(file),
  );
  const notes = kept.has(journal) ? [`${journalFile}: the list of these conversations`] : [];
  const inside = existsSync(folder) ? readdirSync(folder).filter((name) => !kept.has(name) && !isOwnFile(name)) : [];
  return [
    ...failed,
    ...notes,
    ...inside.map((name) => `${join(folder, name)}: not a file of Millrace`),
    ...outside.map((file) => `${file}: a key that you keep there`),
  ];
}
