import type { PromptedIde } from "../../backends/current-server.ts";
import { MillraceError } from "../../base/errors.ts";
import { installedClients } from "../clients/installed.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { withFinder } from "../compose/compose-ide.ts";
import {
  giveConsent,
  promptedHere,
  readConsent,
  spellConsent,
  unconsented,
  withdrawConsent,
} from "../compose/consent.ts";
import { readConfig } from "../config/read-config.ts";
import { dispatch } from "../dispatch.ts";
import { startInBackground } from "../gateway-process/background.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import { stopMs } from "../gateway-process/home.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { type IdeOptions, ideOptions } from "../serve/gateway-options.ts";
import { choosePrompted, spellChosenIde } from "../serve/servers.ts";
import { askNumbers, askYes, canAsk } from "../terminal/ask-yes.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { typedCommand } from "../terminal/own-command.ts";
import { chatCommand } from "./chat.ts";
import { setSetting } from "./config.ts";
import { dashboardCommand } from "./dashboard.ts";
import { setupCommand } from "./setup.ts";
import { stopGateway } from "./stop.ts";

const question = "In one sentence: which model are you?";

/** One thing that `init` does, in the words of the plan, and the command that does it. */
interface Step {
  readonly plan: string;
  /** A command that is useful once the step is done, and its effect. */
  readonly later?: readonly [command: string, what: string];
  /** It asks the user something, so `--yes` leaves it out. */
  readonly asks?: true;
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
    ...ideOptions,
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
    const found = await withFinder(io, options, (finder) => finder.find(signal));
    choosePrompted(found);
    out.prose(`IDE       ${spellChosenIde(found) ?? "found"}`);
    const steps = await stepsOf(context, unconsented(found, settings.folder));
    return takeSteps(options.yes ? steps.filter(({ asks }) => asks !== true) : steps, options.yes, context);
  },
});

/** Shows the steps, asks which to take, and takes them, up to the first that fails. */
async function takeSteps(steps: readonly Step[], all: boolean, context: CommandContext): Promise<number> {
  const { out } = context;
  out.line("Millrace will:");
  for (const [at, { plan }] of steps.entries()) out.prose(`  ${at + 1}.  ${plan}`);
  const chosen = all ? steps : await choose(steps, context);
  for (const { plan, take } of chosen) {
    out.line();
    out.prose(out.style("bold", plan));
    const code = await take();
    if (code !== exitCodes.ok) return code;
  }
  if (chosen.length > 0) showWhatNow(chosen, context);
  return exitCodes.ok;
}

async function takeConsentBack({ out, settings }: CommandContext): Promise<number> {
  await withdrawConsent(settings.folder);
  out.line("Millrace sends no more prompts to an IDE until you type `millrace init --accept`.");
  return exitCodes.ok;
}

/** The consent alone. Throws `invalid_request` where prompts need none. */
async function accept(options: IdeOptions, context: CommandContext): Promise<number> {
  const { io, out, settings, signal } = context;
  const result = await withFinder(io, options, (finder) => finder.find(signal));
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
  const endsWhenIdle = readGatewayFile(settings.gatewayFile)?.startedBy === "command"; // a client that is set up needs one that stays
  const start: Step = {
    plan: "Start the gateway in the background",
    async take() {
      await stopGateway(stopMs, context);
      return startInBackground(["serve"], context, (lines) => lines.slice(0, 1));
    },
  };
  const keep: Step = {
    plan: "Choose how long answers are kept here, and whether the dashboard shows them",
    asks: true,
    take: () => chooseKeeping(context),
  };
  const open = installedClients({ ...io, ownFolder: settings.folder }).filter(
    ({ client, isSetUp }) => !isSetUp && client.edits !== undefined,
  );
  const ask: Step = {
    plan: `Ask your default model one question: "${question}"`,
    take: () => run(chatCommand, question),
  };
  return [
    ...toAccept.map((each) => ({
      plan: `Send prompts to ${each.product}. They use the plan of its account (\`millrace init --undo\` takes it back)`,
      take() {
        giveConsent(settings.folder, each, io.clock.now());
        return Promise.resolve(exitCodes.ok);
      },
    })),
    ...(isKeepingChosen(settings.configFile) ? [] : [keep]),
    ...(running === undefined || endsWhenIdle ? [start] : []),
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

const keeping = [
  ["2h", "2 hours"],
  ["1d", "1 day"],
  ["7d", "7 days"],
  ["30d", "30 days"],
] as const;

function isKeepingChosen(file: string): boolean {
  const { retention, show_texts: shows } = readConfig(file).serve ?? {};
  return retention !== undefined || shows !== undefined;
}

/** Asks once: the choice is written also where it is the default. */
async function chooseKeeping(context: CommandContext): Promise<number> {
  const { io, out } = context;
  out.prose("Answers are kept on this machine, encrypted, so that a client can get them again and you can find them.");
  for (const [at, [, words]] of keeping.entries()) out.line(`  ${at + 1}  ${words}`);
  const chosen = await askNumbers("How long? [a number, Enter for 1]", { count: keeping.length, one: true }, context);
  const [time] = keeping[([...chosen][0] ?? 1) - 1] ?? keeping[0];
  const shows = await askYes("Show prompts and answers on the dashboard, to you alone?", io);
  setSetting("serve.retention", [time], context);
  setSetting("serve.show_texts", [shows ? "on" : "off"], context);
  out.note("`millrace config set retention 7d` and `millrace config set show_texts on` change that.");
  return exitCodes.ok;
}

/** The steps that the user agrees to: all, none, or those whose numbers were typed. Off a terminal none; a note says how to go on. */
async function choose(steps: readonly Step[], { io, out }: CommandContext): Promise<readonly Step[]> {
  if (!canAsk({ io, out })) {
    out.note("Nothing was done, because there is no terminal to ask on. `millrace init --yes` does not ask.");
    return [];
  }
  const question = "Do this? [y/N, or the numbers of some steps, such as 1 3 or 1-3]";
  const chosen = await askNumbers(question, { count: steps.length }, { io, out });
  if (chosen.size === 0) out.note("Nothing was done.");
  return steps.filter((_, at) => chosen.has(at + 1));
}

/** The commands that come next, now that everything is set up. */
function showWhatNow(steps: readonly Step[], { io, out, settings }: CommandContext): void {
  const millrace = typedCommand(io);
  const runs = steps.flatMap(({ later }) => (later === undefined ? [] : [later]));
  const next = [
    ["chat", "ask more"],
    ...(runs.length > 0 ? runs : [["run", "start a coding agent on the gateway"] as const]),
    ["usage", "see what is left of the plan"],
    ["dashboard", "see the turns as they run, in the browser"],
    ...(readGatewayFile(settings.gatewayFile) === undefined ? [] : [["stop", "stop the gateway"] as const]),
  ] as const;
  const width = Math.max(...next.map(([command]) => command.length));
  out.line();
  out.line(out.style("bold", "Done. What you can type now:"));
  for (const [command, what] of next) out.prose(`  ${millrace} ${command.padEnd(width)}  ${what}`);
}
