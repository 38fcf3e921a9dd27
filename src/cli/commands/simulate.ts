import { readFileSync } from "node:fs";
import {
  placesOf,
  profileNames,
  type Simulator,
  simulateOptionsOf,
  startSimulator,
} from "../../../simulator/simulate.ts";
import { untilAborted } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { defineCommand } from "../command.ts";
import { choice, flag, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import type { Io, Output } from "../terminal/output.ts";
import { typedCommand } from "../terminal/own-command.ts";
import { setVariable, shellOf } from "../terminal/shell.ts";

export const simulateCommand = defineCommand({
  ...outlines.simulate,
  description:
    "Starts a process that behaves like the language server of a real IDE, in its own home folder. Start a gateway with that folder as HOME to use it. The devin profiles also install a devin program that speaks ACP. The model is built in and always gives the same answers.",
  options: {
    profile: choice("which product and era", profileNames, undefined, { defaultText: "windsurf-2" }),
    home: text("home folder (default: a temporary one, which is deleted at the end)", "<folder>"),
    config: text("a JSON file with options, faults and turns (docs/dev/simulator.md of the repository)", "<file>"),
    json: flag("print one line of JSON when ready"),
  },
  examples: [
    ["millrace simulate", "a Windsurf 2, the last one with that name"],
    ["millrace simulate --profile windsurf-1.8", "one from before Cascade's step RPCs"],
    ["millrace simulate --profile devin-3", "Devin Desktop, where Cascade has been retired"],
    ["millrace simulate --profile devin-cli", "the devin program alone, installed and signed in"],
    ["millrace simulate --config sim.json", 'such as {"plan": {"shape": "percent", "used": 95}}'],
  ],
  async run({ options: { config, json, ...flags } }, { io, out, signal }) {
    const simulator = await startSimulator(simulateOptionsOf(flags, config && readConfig(config)));
    try {
      if (json) out.json(placesOf(simulator), "line");
      else announce(simulator, { io, out });
      await untilAborted(signal);
    } finally {
      await simulator.stop();
    }
  },
});

function announce(simulator: Simulator, { io, out }: { readonly io: Io; readonly out: Output }): void {
  const { home, ideVersion, profile } = simulator;
  if (profile.devin?.editor === false) out.line("The devin CLI is installed in a stand-in home; no editor runs.");
  else
    out.line(`A stand-in ${profile.productFolder} ${ideVersion} runs (pid ${simulator.pid}, port ${simulator.port}).`);
  out.line(`  home     ${home}`);
  for (const path of [simulator.agentPath, simulator.cliPath])
    if (path !== undefined) out.line(`  agent    ${path} acp`);
  const shell = shellOf(io);
  const serve = `${typedCommand(io)} serve`;
  if (shell === "sh") out.line(`  try      HOME=${home} ${serve}`);
  else
    for (const line of ["try, in a terminal of its own:", setVariable("USERPROFILE", home, shell), serve])
      out.line(`  ${line}`);
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
