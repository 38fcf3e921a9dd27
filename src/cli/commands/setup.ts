import { createInterface } from "node:readline/promises";
import { MillraceError } from "../../base/errors.ts";
import { applyChanges, type PlannedChange, planChanges, planUndo, undoChanges } from "../clients/applied.ts";
import { clients, findClient } from "../clients/clients.ts";
import { readTarget } from "../clients/target.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
import { withGateway } from "../gateway-process/reach-gateway.ts";
import { explainedBy, flag, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { lineDiff } from "../terminal/line-diff.ts";
import { gatewayOptions } from "./serve.ts";

export const setupCommand = defineCommand({
  ...outlines.setup,
  description: `Shows what it would change in the client's configuration and asks. What was there before is kept, so that --undo takes it back, also after other changes. The key is written into no file of the client's. Clients: ${clients.map(({ name }) => name).join(", ")}.`,
  options: {
    model: text("the model that the client begins with", "<name>", {
      short: "m",
      env: "MILLRACE_MODEL",
      defaultText: "the account's default",
    }),
    url: text("the gateway's address", "<url>", { defaultText: "that of the running one" }),
    undo: flag("take the changes back"),
    yes: flag("do not ask", { short: "y" }),
    dryRun: flag("only show the changes"),
    json: flag("print the changes as JSON"),
    ...explainedBy("serve", gatewayOptions),
  },
  examples: [
    ["millrace setup opencode", "shows the change, asks, makes it"],
    ["millrace setup codex --model claude-opus-4.5 --yes", "without asking"],
    ["millrace setup claude-code --undo", "as it was before"],
  ],
  async run({ options, args }, context) {
    const { io, out, settings, signal } = context;
    const client = findClient(args[0]);
    if (options.undo) {
      const changes = planUndo(settings.folder, client.name);
      if (!(await agreed(changes, options, context))) return exitCodes.ok;
      undoChanges(settings.folder, client.name, changes);
      out.note(`${client.title} is as it was.`);
      return exitCodes.ok;
    }
    const target = await withGateway(options, context, async (gateway) => {
      const running = await findGateway(settings, signal);
      return readTarget(
        gateway,
        options.url ?? running?.url ?? `http://127.0.0.1:${options.port}`,
        options.model,
        signal,
      );
    });
    const notes = client.notes(target);
    if (client.edits === undefined) {
      if (options.json) out.json({ client: client.name, changes: [], notes });
      else for (const note of notes) out.line(note);
      return exitCodes.ok;
    }
    const changes = planChanges(client.edits(target, io));
    if (!(await agreed(changes, options, context, notes))) return exitCodes.ok;
    applyChanges(settings.folder, client.name, changes);
    out.note(`${client.title} is set up.`);
    for (const note of notes) out.note(note);
    return exitCodes.ok;
  },
});

/** Shows the changes and asks; false when they are not to be made. Throws `invalid_request` where nobody can be asked. */
async function agreed(
  changes: readonly PlannedChange[],
  options: { readonly yes: boolean; readonly dryRun: boolean; readonly json: boolean },
  { io, out }: CommandContext,
  notes: readonly string[] = [],
): Promise<boolean> {
  if (options.json) {
    out.json({
      changes: changes.map(({ edit, before, after }) => ({ file: edit.file, before: before ?? null, after })),
      notes,
    });
  } else for (const change of changes) show(change, out);
  if (options.dryRun) return false;
  if (options.yes) return true;
  if (io.stdin.isTTY !== true || !out.isTerminal) {
    throw new MillraceError("invalid_request", "Nothing was changed: this needs a terminal to ask on.", {
      hint: "Add --yes to make the changes.",
    });
  }
  const reader = createInterface({ input: io.stdin, output: io.stderr });
  try {
    return /^y(?:es)?$/i.test((await reader.question("Make these changes? [y/N] ", { signal: io.signal })).trim());
  } finally {
    reader.close();
  }
}

function show({ edit, before, after }: PlannedChange, out: CommandContext["out"]): void {
  const what =
    before === undefined ? " (new)" : before === after ? " (nothing to change)" : after === "" ? " (removed)" : "";
  out.line(out.style("bold", `${edit.file}${what}`));
  const colours = { "+": "green", "-": "red", " ": "dim" } as const;
  for (const { mark, text } of lineDiff(before ?? "", after)) out.line(out.style(colours[mark], `${mark} ${text}`));
}
