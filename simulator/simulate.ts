import { type ParseError, parse as parseJsonc, printParseErrorCode } from "jsonc-parser";
import { MillraceError } from "../src/base/errors.ts";
import { isObject } from "../src/base/json.ts";
import { parseSimulatorOptions, type SimulatorConfig } from "./options.ts";
import type { Simulator } from "./start.ts";

export { profileNames } from "./profile.ts";
export { type Simulator, startSimulator } from "./start.ts";

/** Where everything of a running simulator is, without its secrets. */
export function placesOf(simulator: Simulator) {
  const { profile, ideVersion, home, layout, agentPath, cliPath } = simulator;
  const { stateDatabase, cascades, extension } = layout;
  const hasEditor = profile.devin?.editor !== false;
  return {
    profile: profile.name,
    ideVersion,
    home,
    ...(hasEditor && { pid: simulator.pid, port: simulator.port, stateDatabase, cascades, extension }),
    ...(agentPath === undefined ? {} : { agent: agentPath }),
    ...(cliPath === undefined ? {} : { cli: cliPath }),
  };
}

/**
 * The options that the text of a config file (JSON, comments allowed) and the flags of the command line ask for; flags win.
 *
 * @throws MillraceError `invalid_request` that names the key or line at fault.
 */
export function simulateOptionsOf(
  flags: { readonly profile?: string | undefined; readonly home?: string | undefined },
  configText: string | undefined,
): SimulatorConfig {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  return parseSimulatorOptions({ ...(configText && parseConfig(configText)), ...Object.fromEntries(given) });
}

function parseConfig(text: string): object {
  const errors: ParseError[] = [];
  const value: unknown = parseJsonc(text, errors, { allowTrailingComma: true });
  const first = errors[0];
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split("\n").length;
    const what = printParseErrorCode(first.error);
    throw new MillraceError("invalid_request", `The config file is not JSON: line ${line}, ${what}.`);
  }
  if (!isObject(value)) {
    throw new MillraceError("invalid_request", "The config file must hold one JSON object.");
  }
  return value; // its keys are checked with everything else
}
