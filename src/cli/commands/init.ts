import type { PromptedIde } from "../../backends/agents.ts";
import { isWithoutIde } from "../../base/errors.ts";
import { installedClients } from "../clients/installed.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { composeIdeFinder } from "../compose/compose-ide.ts";
import { overridesOf } from "../compose/ide-options.ts";
import { dispatch } from "../dispatch.ts";
import { unconsented } from "../gateway-process/ask-consent.ts";
import { startInBackground } from "../gateway-process/background.ts";
import { giveConsent } from "../gateway-process/consent.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
import { explainedBy, flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { askYes, canAsk } from "../terminal/ask-yes.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { chatCommand } from "./chat.ts";
import { dashboardCommand } from "./dashboard.ts";
import { gatewayOptions } from "./serve.ts";
import { choosePrompted, spellChosenIde } from "./servers.ts";
import { setupCommand } from "./setup.ts";

const question = "In one sentence: which model are you?";
const { ide, home, pid, endpoint, tokenFile } = gatewayOptions;

/** One thing that `init` does, in the words of the plan, and the command that does it. */
interface Step {
  readonly plan: string;
  readonly take: () => Promise<number>;
}

export const initCommand = defineCommand({
  ...outlines.init,
  description:
    "Finds the IDE and the clients that are installed, shows what it would do, and asks. Then it starts the gateway in the background, sets up the clients, asks one question and opens the dashboard. Without a terminal it only shows the plan, unless you give --yes.",
  options: {
    yes: flag("do it without asking", { short: "y" }),
    ...explainedBy("serve", { ide, home, pid, endpoint, tokenFile }),
  },
  examples: [
    ["millrace init", "the first start"],
    ["millrace init --yes", "in a script"],
  ],
  async run({ options }, context) {
    const { io, out, settings, signal } = context;
    const finder = composeIdeFinder(io, overridesOf(io, options));
    const found = await finder.find(signal).finally(() => finder.close());
    let missing: string | undefined;
    try {
      choosePrompted(found);
    } catch (error) {
      if (!isWithoutIde(error)) throw error;
      missing = error.message;
    }
    out.line(`IDE       ${missing ?? spellChosenIde(found) ?? "found"}`);
    const steps = await stepsOf(context, missing === undefined, unconsented(found, settings.folder));
    out.line("Millrace will:");
    for (const [at, { plan }] of steps.entries()) out.line(`  ${at + 1}. ${plan}`);
    if (!options.yes && !(await agrees(context))) return exitCodes.ok;
    for (const { plan, take } of steps) {
      out.line();
      out.line(out.style("bold", plan));
      const code = await take();
      if (code !== exitCodes.ok) return code;
    }
    return exitCodes.ok;
  },
});

async function stepsOf(
  context: CommandContext,
  hasIde: boolean,
  toAccept: readonly PromptedIde[],
): Promise<readonly Step[]> {
  const { io, settings, signal } = context;
  const run = (command: Command, ...argv: readonly string[]) => dispatch([command.name, ...argv], io, [command]);
  const running = await findGateway(settings, signal);
  const start: Step = {
    plan: "Start the gateway in the background",
    take: () => startInBackground(["serve"], context),
  };
  const open = installedClients({ ...io, ownFolder: settings.folder }).filter(
    ({ client, isSetUp }) => !isSetUp && client.edits !== undefined,
  );
  const ask: Step = { plan: `Ask one question: "${question}"`, take: () => run(chatCommand, question) };
  return [
    ...toAccept.map((each) => ({
      plan: `Send prompts to ${each.product}. They use the plan of its account (\`millrace accept --undo\` takes it back)`,
      take() {
        giveConsent(settings.folder, each, io.clock.now());
        return Promise.resolve(exitCodes.ok);
      },
    })),
    ...(running === undefined ? [start] : []),
    ...(hasIde ? open : []).map(({ client }) => ({
      plan: `Set up ${client.title} (\`millrace setup ${client.name} --undo\` takes it back)`,
      take: () => run(setupCommand, client.name, "--yes"),
    })),
    ...(hasIde ? [ask] : []),
    { plan: "Open the dashboard", take: () => run(dashboardCommand) },
  ];
}

/** Asks on a terminal; elsewhere says how to go on. */
async function agrees({ io, out }: CommandContext): Promise<boolean> {
  if (canAsk({ io, out })) return askYes("Do this?", io);
  out.note("Nothing was done, because there is no terminal to ask on. `millrace init --yes` does not ask.");
  return false;
}
