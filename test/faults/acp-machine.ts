import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Simulator, SimulatorOptions } from "../../simulator/index.ts";
import type { AgentPlan, JournalLine } from "../../src/backends/acp/scripted-plan.fake.ts";
import { opening } from "../../src/backends/acp/session/prompt-blocks.ts";
import { temporaryHome } from "../support/home.ts";
import { gateway, openai, simulator } from "../support/world.ts";

export const model = "swe-2:high";
/** The language server of an older build lists this one too. */
export const olderModel = "gemini-3-flash";
export const ask = (content: string, asked = model) => ({
  model: asked,
  messages: [{ role: "user" as const, content }],
});

/** A machine with the stand-in for Devin, and a gateway on it. */
export async function machine(options: SimulatorOptions, args: readonly string[] = []) {
  const home = temporaryHome();
  const ide = await simulator({ ...options, home });
  const served = await gateway({ home, args });
  return { home, ide, served, client: openai(served) };
}

/** The texts of the prompts that its agents took, behind the block of ours that each begins with. */
export const prompted = (ide: Simulator) => ide.prompts().map(({ text }) => text.slice(`${opening}\n\n`.length));

const agentFile = join(import.meta.dirname, "../../src/backends/acp/scripted-agent.fake.ts");

/** A home whose user configured an agent on the protocol's own library. `program`: the name of the script that starts it. */
export function scriptedHome({ entry = "", program = "scripted" } = {}) {
  const home = temporaryHome();
  const folder = join(home, "agent");
  const script = join(home, program);
  mkdirSync(folder);
  writeFileSync(
    script,
    `#!/bin/sh\nexec "${process.execPath}" --experimental-strip-types --no-warnings "${agentFile}" "$@"\n`,
    { mode: 0o700 },
  );
  mkdirSync(join(home, ".millrace"), { mode: 0o700 });
  const agent = [
    "[[agents]]",
    'name = "fake"',
    `command = [${JSON.stringify(script)}, "acp"]`,
    `set = { FAKE_AGENT_FOLDER = ${JSON.stringify(folder)} }`,
  ];
  writeFileSync(join(home, ".millrace/config.toml"), [...agent, entry, ""].join("\n"));
  return {
    home,
    folder,
    plan: (plan: AgentPlan) =>
      writeFileSync(join(folder, "plan.json"), JSON.stringify({ text: "Hello there, friend.", ...plan })),
    journal: () => {
      const file = join(folder, "journal.jsonl");
      const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
      return lines.flatMap((line) => (line === "" ? [] : (JSON.parse(line) as JournalLine)));
    },
  };
}
