import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Client } from "../../../src/cli/clients/client.ts";
import { printVariable } from "../../../src/cli/terminal/shell.ts";
import type { Bench, Ran } from "../bench.ts";

/** Starts a client the way `millrace run` does. */
export async function launched(
  bench: Bench,
  client: Client,
  args: readonly string[],
  more: {
    readonly env?: Readonly<Record<string, string>>;
    readonly stdin?: string;
    readonly until?: Promise<unknown>;
    /** The context window that the client is told for its model; without it, that of the bench. */
    readonly contextTokens?: number;
  } = {},
): Promise<Ran> {
  if (client.launch === undefined) throw new Error(`${client.name} cannot be launched`);
  const { models, ...rest } = bench.target;
  const { contextTokens } = more;
  const target = {
    ...rest,
    models: contextTokens === undefined ? models : models.map((model) => ({ ...model, contextTokens })),
  };
  const variable = "MILLRACE_OFTHISRUN_API_KEY";
  const run = {
    value: bench.key,
    variable,
    command: printVariable(variable, process.platform),
    folder: join(bench.home, ".millrace", "run"),
  };
  const { args: before = [], env = {}, files = [] } = client.launch(target, run, bench.place);
  for (const { file, text } of files) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const set = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return bench.run(bench.bin(client.programs[0] ?? client.name), [...before, ...args], {
    ...more,
    env: { ...more.env, [variable]: bench.key, ...set },
  });
}
