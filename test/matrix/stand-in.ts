import { rm } from "node:fs/promises";
import process from "node:process";
import type { Simulator, SimulatorOptions } from "../../simulator/index.ts";
import { temporaryHome } from "../support/home.ts";
import { patience, simulator } from "../support/world.ts";

/** What answers behind the gateway, and how it goes away and comes back. */
export interface StandIn {
  readonly ide: Simulator;
  /** A model that it has. */
  readonly model: string;
  /** The texts of all prompts that reached it, refused ones included, over all its lives. */
  prompts(): Promise<readonly string[]>;
  /** Kills the process that answers, as `kill -9` does; nothing starts it again. */
  crash(): Promise<void>;
  /** Starts it again. */
  comeBack(): Promise<void>;
  /** Kills the process that answers; it can be started at once. */
  restart(): Promise<void>;
  /** The IDE ends in good order, and starts again. */
  restartIde(): Promise<void>;
}

export const backends = ["Cascade", "ACP"] as const;
export type BackendName = (typeof backends)[number];

const profileOf = { Cascade: "windsurf-2", ACP: "devin-3" } as const;
/** The one of the agent costs nothing, so that no quota ends. */
const models = { Cascade: "claude-sonnet-4.6", ACP: "swe-1.6:slow" } as const;

/** One for a test, stopped after it. */
export async function standInFor(backend: BackendName, options: SimulatorOptions = {}): Promise<StandIn> {
  const plan = { unlimited: true };
  const ide = await simulator({ home: temporaryHome(), profile: profileOf[backend], plan, ...options });
  const life = backend === "ACP" ? agentProgram(ide) : languageServer(ide);
  return { ide, model: models[backend], ...life };
}

type Life = Omit<StandIn, "ide" | "model">;

/** The process is the language server; its report dies with it. */
function languageServer(ide: Simulator): Life {
  const earlier: string[] = [];
  let runs = true;
  const prompts = async () => {
    if (!runs) return earlier;
    const { messages, refusedMessages } = await ide.report();
    return [...earlier, ...messages.map(({ text }) => text), ...refusedMessages];
  };
  const noted = async () => void earlier.splice(0, earlier.length, ...(await prompts()));
  const crash = async () => {
    await noted();
    runs = false;
    process.kill(ide.pid, "SIGKILL");
  };
  const comeBack = async () => {
    await ide.restart({ crash: true });
    runs = true;
  };
  return {
    prompts,
    crash,
    comeBack,
    async restart() {
      await crash();
      await comeBack();
    },
    async restartIde() {
      await noted();
      await ide.restart();
    },
  };
}

/** The process is the `devin` program, which the gateway starts; the report is the editor's. */
function agentProgram(ide: Simulator): Life {
  const kill = async () => {
    for (const { pid, running } of ide.agentReport().processes) if (running) process.kill(pid, "SIGKILL");
    await ide.untilAgent(({ processes }) => processes.every(({ running }) => !running), patience());
  };
  return {
    prompts() {
      const { prompts, refusedPrompts } = ide.agentReport();
      return Promise.resolve([...prompts.map(({ text }) => text), ...refusedPrompts]);
    },
    async crash() {
      for (const path of [ide.agentPath, ide.cliPath]) if (path !== undefined) await rm(path, { force: true });
      await kill();
    },
    comeBack: () => ide.setAgent({}), // writes the program anew
    restart: kill,
    restartIde: () => ide.restart(),
  };
}
