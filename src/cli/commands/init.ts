import type { PromptedIde } from "../../backends/agents.ts";
import { MillraceError } from "../../base/errors.ts";
import { installedClients } from "../clients/installed.ts";
import { typedCommand } from "../clients/millrace-command.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { composeIdeFinder } from "../compose/compose-ide.ts";
import { dispatch } from "../dispatch.ts";
import { discoverHere, promptedHere, unconsented } from "../gateway-process/ask-consent.ts";
import { startInBackground } from "../gateway-process/background.ts";
import { giveConsent, readConsent, spellConsent, withdrawConsent } from "../gateway-process/consent.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import { explainedBy, flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { gatewayOptions } from "../serve/gateway-options.ts";
import { type IdeOptions, overridesOf } from "../serve/ide-options.ts";
import { choosePrompted, spellChosenIde } from "../serve/servers.ts";
import { askLine, canAsk, stepsNamed } from "../terminal/ask-yes.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { chatCommand } from "./chat.ts";
import { dashboardCommand } from "./dashboard.ts";
import { setupCommand } from "./setup.ts";

const question = "In one sentence: which model are you?";
const { ide, home, pid, endpoint, tokenFile } = gatewayOptions;

/** One thing that `init` does, in the words of the plan, and the command that does it. */
interface Step {
  readonly plan: string;
  /** A command that is useful once the step is done, and its effect. */
  readonly later?: readonly [command: string, what: string];
  readonly take: () => Promise<number>;
}

export const initCommand = defineCommand({
  ...outlines.init,
  description:
    "Finds the IDE and the clients that are installed, shows what it would do, and asks. Then it starts the gateway in the background, sets up the clients, asks one question and opens the dashboard. Without a terminal it only shows the plan, unless you give --yes.",
  options: {
    yes: flag("do it without asking", { short: "y" }),
    accept: flag("only agree that prompts go to the IDE and use its plan; a running gateway uses that at once"),
    undo: flag("take this consent back: the next prompt is refused"),
    ...explainedBy("serve", { ide, home, pid, endpoint, tokenFile }),
  },
  examples: [
    ["millrace init", "the first start"],
    ["millrace init --yes", "in a script"],
    ["millrace init --accept", "only the consent; `--undo` takes it back"],
  ],
  async run({ options }, context) {
    if (options.undo) return takeConsentBack(context);
    if (options.accept) return accept(options, context);
    const { io, out, settings, signal } = context;
    const finder = composeIdeFinder(io, overridesOf(io, options));
    const found = await finder.find(signal).finally(() => finder.close());
    choosePrompted(found);
    out.prose(`IDE       ${spellChosenIde(found) ?? "found"}`);
    const steps = await stepsOf(context, unconsented(found, settings.folder));
    out.line("Millrace will:");
    for (const [at, { plan }] of steps.entries()) out.prose(`  ${at + 1}.  ${plan}`);
    const chosen = options.yes ? steps : await choose(steps, context);
    for (const { plan, take } of chosen) {
      out.line();
      out.prose(out.style("bold", plan));
      const code = await take();
      if (code !== exitCodes.ok) return code;
    }
    if (chosen.length > 0) showWhatNow(chosen, context);
    return exitCodes.ok;
  },
});

function takeConsentBack({ out, settings }: CommandContext): number {
  withdrawConsent(settings.folder);
  out.line("Millrace sends no more prompts to an IDE until you type `millrace init --accept`.");
  return exitCodes.ok;
}

/** The consent alone. Throws `invalid_request` where prompts need none. */
async function accept(options: IdeOptions, context: CommandContext): Promise<number> {
  const { io, out, settings } = context;
  const result = await discoverHere(options, context);
  const found = promptedHere(result);
  if (found.length === 0) {
    throw new MillraceError("invalid_request", `${choosePrompted(result).product} needs no consent.`, {
      hint: "Only an IDE with an account's plan needs it. A stand-in, and a server that you named by its address, do not.",
    });
  }
  for (const each of found) {
    if (readConsent(settings.folder, each) === undefined) giveConsent(settings.folder, each, io.clock.now());
    out.prose(`You agree: ${spellConsent(each.product)}`);
  }
  out.line("`millrace init --undo` takes it back.");
  return exitCodes.ok;
}

async function stepsOf(context: CommandContext, toAccept: readonly PromptedIde[]): Promise<readonly Step[]> {
  const { io, settings, signal } = context;
  const run = (command: Command, ...argv: readonly string[]) => dispatch([command.name, ...argv], io, [command]);
  const running = await findGateway(settings, signal);
  const start: Step = {
    plan: "Start the gateway in the background",
    take: () => startInBackground(["serve"], context, (lines) => lines.slice(0, 1)),
  };
  const open = installedClients({ ...io, ownFolder: settings.folder }).filter(
    ({ client, isSetUp }) => !isSetUp && client.edits !== undefined,
  );
  const ask: Step = { plan: `Ask one question: "${question}"`, take: () => run(chatCommand, question) };
  return [
    ...toAccept.map((each) => ({
      plan: `Send prompts to ${each.product}. They use the plan of its account (\`millrace init --undo\` takes it back)`,
      take() {
        giveConsent(settings.folder, each, io.clock.now());
        return Promise.resolve(exitCodes.ok);
      },
    })),
    ...(running === undefined ? [start] : []),
    ...open.map(({ client }) => ({
      plan: `Set up ${client.title} (\`millrace setup ${client.name} --undo\` takes it back)`,
      ...(client.launch === undefined
        ? {}
        : { later: [`run ${client.name}`, `start ${client.title} on the gateway`] as const }),
      take: () => run(setupCommand, client.name, "--yes"),
    })),
    ask,
    { plan: "Open the dashboard", take: () => run(dashboardCommand) },
  ];
}

/** The steps that the user agrees to: all, none, or those whose numbers were typed. Off a terminal none; a note says how to go on. */
async function choose(steps: readonly Step[], { io, out }: CommandContext): Promise<readonly Step[]> {
  if (!canAsk({ io, out })) {
    out.note("Nothing was done, because there is no terminal to ask on. `millrace init --yes` does not ask.");
    return [];
  }
  for (;;) {
    const answer = await askLine("Do this? [y/N, or the numbers of some steps, such as 1 3 or 1-3]", io);
    const chosen = stepsNamed(answer, steps.length);
    if (chosen === undefined) {
      out.note(`${JSON.stringify(answer)} is not an answer. Type y, n, or numbers from 1 to ${steps.length}.`);
      continue;
    }
    if (chosen.size === 0) out.note("Nothing was done.");
    return steps.filter((_, at) => chosen.has(at + 1));
  }
}

/** The commands that come next, now that everything is set up. */
function showWhatNow(steps: readonly Step[], { io, out, settings }: CommandContext): void {
  const millrace = typedCommand(io);
  const next = [
    ["chat", "ask more"],
    ...steps.flatMap(({ later }) => (later === undefined ? [] : [later])),
    ["usage", "see what is left of the plan"],
    ...(readGatewayFile(settings.gatewayFile) === undefined ? [] : [["stop", "stop the gateway"] as const]),
  ] as const;
  const width = Math.max(...next.map(([command]) => command.length));
  out.line();
  out.line(out.style("bold", "Done. What you can type now:"));
  for (const [command, what] of next) out.prose(`  ${millrace} ${command.padEnd(width)}  ${what}`);
}
