import { type ParseError, parse as parseJsonc, printParseErrorCode } from "jsonc-parser";
import { MillraceError } from "../src/base/errors.ts";
import { isObject } from "../src/base/json.ts";
import { describe, startControlServer } from "./control-server.ts";
import { parseSimulatorOptions, type SimulatorConfig, type SimulatorOptions } from "./options.ts";
import { type Simulator, startSimulator } from "./start.ts";

export { planShapes } from "./account/plan-options.ts";
export { profileNames } from "./profile.ts";

/** The start-up report of `millrace simulate`, once everything listens. */
export interface SimulateReady {
  readonly simulator: Simulator;
  /** For `--json`: paths, ports, pid; no secrets. */
  readonly description: ReturnType<typeof describe> & { readonly controlUrl: string };
}

/**
 * Runs a simulator with its control API until the signal aborts, then stops both.
 *
 * @param onReady called once when it listens. @throws the errors of `startSimulator`; an error of the control port (`EADDRINUSE`) as
 * Node gives it.
 */
export async function runSimulate(
  options: SimulatorOptions,
  controlPort: number,
  onReady: (ready: SimulateReady) => void,
  signal: AbortSignal,
): Promise<void> {
  await using simulator = await startSimulator(options);
  const control = await startControlServer(simulator, controlPort);
  try {
    onReady({
      simulator,
      description: { ...describe(simulator), controlUrl: `http://127.0.0.1:${control.port}/` },
    });
    if (!signal.aborted) {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    }
  } finally {
    await control.close();
  }
}

/** The command-line options of `millrace simulate`; an option that was not given is undefined. */
interface SimulateFlags {
  readonly profile?: string | undefined;
  readonly home?: string | undefined;
  readonly workspace?: string | undefined;
  /** Characters a second, or `instant`. */
  readonly rate?: string | undefined;
  /** Time to the planner's first output. */
  readonly firstMs?: number | undefined;
  /** The shape of the account's plan (one of Antigravity's picks that profile), and the percent of it that is used. */
  readonly plan?: string | undefined;
  readonly planUsed?: number | undefined;
  /** Permutes the field numbers of the wire. */
  readonly schemaSeed?: number | undefined;
  readonly modelUrl?: string | undefined;
  readonly modelName?: string | undefined;
  readonly signedOut?: boolean | undefined;
  readonly strictMetadata?: boolean | undefined;
}

/**
 * The options that the flags and the text of a config file (JSON, comments allowed) ask for; flags win.
 *
 * @throws MillraceError `invalid_request` that names the flag, key or line at fault.
 */
export function simulateOptionsOf(flags: SimulateFlags, configText: string | undefined): SimulatorConfig {
  const { rate, firstMs, plan, planUsed, ...plain } = flags;
  const file: Partial<SimulatorOptions> = configText === undefined ? {} : parseConfig(configText);
  const given = Object.entries(plain).filter(([, value]) => value !== undefined && value !== false);
  return parseSimulatorOptions({
    ...(plan === "fractions" || plan === "pools" ? { profile: "antigravity" } : {}),
    ...file,
    ...Object.fromEntries(given),
    plan: {
      ...file.plan,
      ...(plan === undefined ? {} : { shape: plan }),
      ...(planUsed === undefined ? {} : { used: planUsed }),
    },
    turn: {
      ...file.turn,
      ...(rate === undefined ? {} : { rate: parseRate(rate) }),
      ...(firstMs === undefined ? {} : { firstMs }),
    },
  });
}

function parseRate(text: string): number | "instant" {
  if (text === "instant") return text;
  const rate = Number(text);
  if (text.trim() !== "" && Number.isFinite(rate) && rate > 0) return rate;
  throw new MillraceError(
    "invalid_request",
    `--rate takes characters a second or instant, not ${JSON.stringify(text)}.`,
  );
}

function parseConfig(text: string): Partial<SimulatorOptions> {
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
