import { isDeepStrictEqual } from "node:util";
import { isMillraceError } from "../../base/errors.ts";
import type { Command } from "../command.ts";
import { buildProgram } from "../parser.ts";
import type { Io } from "../terminal/io.ts";
import type { Config } from "./config-schema.ts";
import { readConfig } from "./read-config.ts";
import { parseServeTable, tomlKey } from "./read-serve-table.ts";

type Options = Readonly<Record<string, unknown>>;

/** Options that a running gateway takes over when it reads its file again. */
export const liveOptions = ["logLevel", "maxTurns"] as const;

/** Options that a running gateway can change, and how it does that. */
export interface LiveSetting {
  readonly of: readonly (typeof liveOptions)[number][];
  /** Throws a MillraceError where the new values cannot be used. */
  readonly apply: (options: Options) => void;
}

export interface ReloadParts {
  readonly command: Command;
  /** The command line that started the gateway: its options win over the file. */
  readonly argv: readonly string[];
  readonly io: Pick<Io, "env">;
  readonly file: string;
  /** The options that the gateway runs with now. */
  readonly options: Options;
}

/** Reads the configuration file again at each call, applies the settings that can change in a running gateway, and reports that in lines for people. */
export function openReload(
  { command, argv, io, file, options }: ReloadParts,
  live: readonly LiveSetting[],
): () => Promise<readonly string[]> {
  let config = readConfig(file);
  const running: Record<string, unknown> = { ...options };
  const stays = "The gateway keeps its settings from before.";
  return async () => {
    const lines: string[] = [];
    let now: Config;
    let wanted: Options;
    try {
      now = readConfig(file);
      wanted = await parseAgain(command, argv, io, parseServeTable(now, command.options, file));
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      return [`${error.message} ${error.hint} ${stays}`];
    }
    const changed = Object.keys(wanted).filter((name) => !isDeepStrictEqual(wanted[name], running[name]));
    const applied: string[] = [];
    for (const { of, apply } of live) {
      const names: readonly string[] = of.filter((name) => changed.includes(name));
      if (names.length === 0) continue;
      try {
        apply(wanted);
      } catch (error) {
        if (!isMillraceError(error)) throw error;
        lines.push(`${error.message} ${error.hint} ${stays}`);
        continue;
      } finally {
        changed.splice(0, changed.length, ...changed.filter((name) => !names.includes(name)));
      }
      for (const name of names) running[name] = wanted[name];
      applied.push(...names.map(tomlKey));
    }
    const later = [...changed.map(tomlKey), ...(isDeepStrictEqual(now.agents, config.agents) ? [] : ["[agents]"])];
    const overridden = Object.keys({ ...now.serve, ...config.serve }).filter(
      (key) => !isDeepStrictEqual(now.serve?.[key], config.serve?.[key]) && ![...applied, ...later].includes(key),
    );
    if (applied.length > 0) lines.push(`${file} was read again. In effect now: ${applied.join(", ")}.`);
    if (later.length > 0)
      lines.push(`Restart the gateway to change: ${later.join(", ")}. Its turns go on after the restart.`);
    if (lines.length === 0 && overridden.length > 0)
      lines.push(`The command line or the environment sets ${overridden.join(", ")}, and wins over ${file}.`);
    config = { ...config, serve: now.serve };
    return lines.length > 0 ? lines : [`${file} sets nothing that the gateway does not have already.`];
  };
}

/** The options of the same command line with another configuration file. */
async function parseAgain(command: Command, argv: readonly string[], { env }: Pick<Io, "env">, configured: Options) {
  let options: Options = {};
  const ignore = () => {};
  const program = buildProgram([command], {
    env,
    version: "",
    write: ignore,
    problem: ignore,
    configured: () => Promise.resolve(configured),
    found: ({ input }) => {
      ({ options } = input);
      return Promise.resolve();
    },
  });
  await program.parseAsync([...argv], { from: "user" });
  return options;
}
