import { structuredPatch } from "diff";
import { isWithoutIde, MillraceError } from "../../base/errors.ts";
import { isProxy, loopbackExemption } from "../../base/node/loopback.ts";
import { applyChanges, type PlannedChange, planChanges, planUndo, undoChanges } from "../clients/applied.ts";
import { type Client, notesOf, secretWith, type Target } from "../clients/client.ts";
import { clients, findClient } from "../clients/clients.ts";
import { isInstalled, pickClients, setUpClients, setupKey } from "../clients/installed.ts";
import { kilo, openCode } from "../clients/opencode.ts";
import { statusline } from "../clients/statusline.ts";
import { readTarget, targetWithoutModels, withoutTarget } from "../clients/target.ts";
import { type CommandContext, defineCommand, type OptionValues } from "../command.ts";
import { withGateway } from "../compose/use-gateway.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
import { endClientKey, issueClientKey, readClientKey } from "../keys/client-key.ts";
import { newKey } from "../keys/key-record.ts";
import { flag, modelOption, ofServe } from "../options.ts";
import { outlines } from "../outlines.ts";
import { gatewayOptions } from "../serve/gateway-options.ts";
import { agrees } from "../terminal/ask-yes.ts";
import { exitCodes, nothingHere } from "../terminal/exit-codes.ts";
import { setVariable, shellOf } from "../terminal/shell.ts";

const options = {
  model: modelOption("model that the client starts with"),
  all: flag("set up every client that is installed"),
  allModels: flag("write all models into the configuration (default: the newest of each family)"),
  undo: flag("undo the changes"),
  yes: flag("make the changes without asking", { short: "y" }),
  dryRun: flag("show the changes and do not make them"),
  json: flag("print the changes as JSON"),
  ...ofServe(gatewayOptions),
} as const;
type Options = OptionValues<typeof options>;

export const setupCommand = defineCommand({
  ...outlines.setup,
  description: `Shows the changes to the client's configuration and asks before it makes them. --undo restores the earlier settings, even after other changes. It works without an IDE, too. Each client gets a key of its own, which --undo ends. For a client that is not listed, use generic. Clients: ${clients.map(({ name }) => name).join(", ")}.`,
  options,
  examples: [
    ["millrace setup", "lists the clients that are installed, and asks which"],
    ["millrace setup opencode", "shows the changes, asks, makes them"],
    ["millrace setup codex --model claude-opus --yes", "without asking"],
    ["millrace setup --all", "every client that is installed"],
    ["millrace setup generic", "what to enter in any other client"],
    ["millrace setup claude-code --undo", "restores the earlier settings"],
  ],
  async run({ options, args }, context) {
    const { io, out, settings } = context;
    const known = meantBy(args[0], options, context);
    const title = options.undo ? "Set up here" : "Found here";
    const meant =
      args[0] === undefined && !options.all
        ? await pickClients(known, { command: options.undo ? "setup --undo" : "setup", title, one: false }, context)
        : known;
    if (meant.length === 0) return exitCodes.ok;
    if (options.undo) {
      const undone = meant.map((client) => ({ client, changes: planUndo(settings.folder, client.name) }));
      const changes = undone.flatMap((each) => each.changes);
      if (!(await agreed(changes, options, context))) return exitCodes.ok;
      for (const each of undone) {
        undoChanges({ folder: settings.folder, home: io.homeFolder }, each.client.name, each.changes);
        endClientKey(settings, each.client.name, io.clock.now());
        out.note(`${each.client.title} has its earlier settings again.`);
      }
      return exitCodes.ok;
    }
    const needsModel = meant.some((client) => client !== statusline);
    const target = needsModel ? await targetOf(options, context) : withoutTarget(shellOf(io));
    if (target.why !== undefined) out.note(target.why);
    const place = { ...io, ownFolder: settings.folder };
    const planned = meant.map((client) => {
      const value = readClientKey(settings, client.name) ?? newKey();
      const key = setupKey(client, value, place);
      const edits = (client.edits?.(target, key, place) ?? []).map((edit) => secretWith(key, edit));
      return {
        client,
        value,
        notes: notesOf(client, target, key, io.env),
        changes: planChanges(settings.folder, client.name, edits),
      };
    });
    const take = ({ client: { name, isKeyless }, value, changes }: (typeof planned)[number]) => {
      if (isKeyless) endClientKey(settings, name, io.clock.now());
      else issueClientKey(settings, name, value, io.clock.now());
      applyChanges(settings.folder, name, changes);
    };
    const ofAll = [...gatewayNotes(meant), ...proxyNotes(io.env, target)];
    const notes = [...planned.flatMap((each) => each.notes), ...ofAll];
    if (planned.every(({ client }) => client.edits === undefined)) {
      if (!options.dryRun) planned.forEach(take);
      if (options.json) out.json({ data: [], notes });
      else for (const note of notes) out.line(note); // commands to copy: they are not broken
      return exitCodes.ok;
    }
    const all = planned.flatMap(({ changes }) => changes);
    if (!(await agreed(all, options, context, notes))) return exitCodes.ok;
    for (const each of planned) {
      take(each);
      const { client, changes, notes: own } = each;
      const already = changes.every(({ before, after }) => before === after) ? " already" : "";
      out.note(client.edits === undefined ? `${client.title}:` : `${client.title} is set up${already}.`);
      for (const note of own) out.talk(`${note}\n`); // commands to copy: they are not broken
    }
    for (const note of ofAll) out.talk(`${note}\n`);
    return exitCodes.ok;
  },
});

/** How the gateway comes to run: the plugin of OpenCode and Kilo alone starts it. */
function gatewayNotes(meant: readonly Client[]): readonly string[] {
  if (meant.every((client) => client === openCode || client === kilo)) return [];
  return [
    "The gateway must run while you use it: `millrace serve --background` starts it, `millrace service install` also at each login.",
  ];
}

/** What to type where this shell names a proxy that clients would use for this machine, too; nothing otherwise. */
function proxyNotes(env: CommandContext["io"]["env"], { shell }: Pick<Target, "shell">): readonly string[] {
  if (!Object.entries(env).some(isProxy)) return [];
  const exempt = loopbackExemption(env);
  const lacking = (["NO_PROXY", "no_proxy"] as const).filter((name) => env[name] !== exempt[name]);
  const named = lacking.filter((name) => name === "NO_PROXY" || env[name] !== undefined);
  if (named.length === 0) return [];
  return [
    "This shell names a proxy. The client would send its requests there, with the key. Before you start it, and in your shell's start-up file:",
    ...named.map((name) => `  ${setVariable(name, exempt[name], shell)}`),
  ];
}

/** The client that was named; without a name, those that are installed, or those that were set up. */
function meantBy(
  name: string | undefined,
  { all, undo }: Options,
  { io, settings }: CommandContext,
): readonly Client[] {
  if (name !== undefined) {
    if (!all) return [findClient(name)];
    throw new MillraceError("invalid_request", `--all already includes ${name}.`, {
      hint: "Leave out one of the two.",
    });
  }
  const place = { ...io, ownFolder: settings.folder };
  const setUp = setUpClients(settings.folder);
  const found = clients.filter((client) => (undo ? setUp.includes(client.name) : isInstalled(client, place)));
  if (found.length > 0) return found;
  throw nothingHere(
    undo ? "No client was set up here." : "No client was found here.",
    "`millrace setup generic` shows what to type into any client.",
  );
}

async function targetOf(options: Options, context: CommandContext) {
  const { io, settings, signal } = context;
  const running = await findGateway(settings, signal); // one that is started for this command may have any free port
  return withGateway(options, context, async (gateway) => {
    const fixed = options.port === 0 ? gateway.url : `http://127.0.0.1:${options.port}`;
    const url = running?.url ?? fixed;
    const shell = shellOf(io);
    try {
      return await readTarget(gateway, url, options.model, { shell, allModels: options.allModels, signal });
    } catch (error) {
      if (!isWithoutIde(error)) throw error;
      return targetWithoutModels(error, { url, wanted: options.model, shell });
    }
  });
}

/** Shows the changes and asks; false when the user declines. Throws `invalid_request` without a terminal to ask on. */
async function agreed(
  changes: readonly PlannedChange[],
  options: Options,
  { io, out }: CommandContext,
  notes: readonly string[] = [],
): Promise<boolean> {
  if (options.json) {
    out.json({
      data: changes.map(({ edit, before, after }) => ({
        file: edit.file,
        before: before === undefined ? null : withoutKeys(before),
        after: withoutKeys(after),
      })),
      notes,
    });
  } else for (const change of changes) if (change.before !== undefined || change.after !== "") show(change, out);
  if (options.dryRun) return false;
  const changesNothing = changes.length > 0 && changes.every(({ before, after }) => before === after);
  if (options.yes || changesNothing) return true;
  return agrees("Make these changes?", "Nothing was changed", { io, out });
}

function show({ edit, before, after }: PlannedChange, out: CommandContext["out"]): void {
  const what =
    before === undefined ? " (new)" : before === after ? " (nothing to change)" : after === "" ? " (removed)" : "";
  out.line(out.style("bold", `${edit.file}${what}`));
  const colours = new Map<string, "green" | "red">([
    ["+", "green"],
    ["-", "red"],
  ]);
  for (const line of lineDiff(withoutKeys(before ?? ""), withoutKeys(after))) {
    const [mark = ""] = line;
    out.line(out.style(colours.get(mark) ?? "dim", `${mark} ${line.slice(1)}`));
  }
}

/** Keys are written into files, and never shown. */
function withoutKeys(text: string): string {
  return text.replaceAll(/\bmr[kr]?_[\w-]{43}/g, "<its key>");
}

/** The lines that differ between two texts, each after its mark, with three lines around each change; a gap is one line `…`. */
function lineDiff(before: string, after: string): readonly string[] {
  const [old, now] = [before, after].map((text) => (text === "" ? "" : `${text.replace(/\n$/, "")}\n`));
  const { hunks } = structuredPatch("", "", old ?? "", now ?? "", "", "", { context: 3 });
  return hunks.flatMap(({ lines }, at) => (at === 0 ? lines : [" …", ...lines]));
}
