import { readFileSync } from "node:fs";
import {
  planShapes,
  profileNames,
  runSimulate,
  type SimulateReady,
  simulateOptionsOf,
} from "../../../simulator/simulate.ts";
import { MillraceError } from "../../base/errors.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { choice, duration, flag, integer, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { typedCommand } from "../terminal/own-command.ts";

export const simulateCommand = defineCommand({
  ...outlines.simulate,
  description:
    "Starts a process that behaves like the language server of a real IDE, in its own home folder. Start a gateway with that folder as HOME to use it. The devin profiles also install a devin program that speaks ACP. The model is built in and always gives the same answers, unless --model-url names another one.",
  options: {
    profile: choice("which product and era", profileNames, undefined, { defaultText: "windsurf-2" }),
    home: text("home folder (default: a temporary one, which is deleted at the end)", "<folder>"),
    workspace: text("folder that is open in it", "<folder>"),
    config: text("a JSON file with options, faults and turns (docs/dev/simulator.md of the repository)", "<file>"),
    rate: text("speed of answers: characters per second, or instant", "<rate>"),
    first: duration("time to the first output of an answer", undefined),
    plan: choice(
      "how the server reports the account's plan; fractions and pools are for Antigravity",
      planShapes,
      undefined,
      {
        defaultText: "credits",
      },
    ),
    planUsed: integer("percent of the plan that is already used", "<percent>", {
      min: 0,
      max: 100,
      initial: undefined,
    }),
    schemaSeed: integer("change the field numbers of the protocol, by this seed", "<seed>", {
      min: 0,
      max: 0xffff_ffff,
      initial: undefined,
    }),
    controlPort: integer("port of the control API (0: any free one)", "<port>", {
      min: 0,
      max: 65_535,
      initial: 0,
    }),
    modelUrl: text("OpenAI-compatible server that answers as the model", "<url>"),
    modelName: text("the model to ask it for", "<name>"),
    signedOut: flag("no account is signed in"),
    strictMetadata: flag("require all metadata that the editor sends, not only the key"),
    json: flag("print one line of JSON when ready"),
  },
  examples: [
    ["millrace simulate", "a Windsurf 2, the last one with that name"],
    ["millrace simulate --profile windsurf-1.8", "one from before Cascade's step RPCs"],
    ["millrace simulate --profile devin-3", "Devin Desktop, where Cascade has been retired"],
    ["millrace simulate --profile devin-cli", "the devin program alone, installed and signed in"],
    ["millrace simulate --plan percent --plan-used 95", "one whose daily quota is nearly gone"],
    ["millrace simulate --model-url http://127.0.0.1:11434/v1 --model-name llama3.2", "with a local model behind it"],
  ],
  async run({ options }, { io, out, signal }) {
    const { config, first, json, controlPort, ...flags } = options;
    const wanted = simulateOptionsOf(
      { ...flags, firstMs: first },
      config === undefined ? undefined : readConfig(config),
    );
    await runSimulate(wanted, controlPort, (ready) => announce(ready, { json, io, out }), signal);
  },
});

function announce(
  { simulator, description }: SimulateReady,
  { json, io, out }: Pick<CommandContext, "json" | "io" | "out">,
): void {
  if (json) return out.json(description, "line");
  const { home, ideVersion, profile } = simulator;
  if (profile.devin?.editor === false) out.line("The devin CLI is installed in a stand-in home; no editor runs.");
  else
    out.line(`A stand-in ${profile.productFolder} ${ideVersion} runs (pid ${simulator.pid}, port ${simulator.port}).`);
  out.line(`  home     ${home}`);
  for (const path of [simulator.agentPath, simulator.cliPath])
    if (path !== undefined) out.line(`  agent    ${path} acp`);
  out.line(`  try      HOME=${home} ${typedCommand(io)} serve`);
  out.line(`  control  ${description.controlUrl} (docs/dev/simulator.md)`);
  out.line("Ctrl-C stops it.");
}

function readConfig(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new MillraceError("invalid_request", `The config file ${file} cannot be read.`, {
      hint: "docs/dev/simulator.md of the repository shows one.",
      cause: error,
    });
  }
}
