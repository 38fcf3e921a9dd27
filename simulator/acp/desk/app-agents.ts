import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** The start options of the app's own agents. */
interface AppAgentsStart {
  /** The `devin` program inside the app: the name under which the process table shows them. */
  readonly agentPath: string;
  /** The Node binary, and its arguments before those of `devin`. */
  readonly command: readonly string[];
  readonly home: string;
}

/**
 * The two `devin` processes that a running app keeps for itself. They serve only the app: the app's environment tells them that
 * the host authenticates. Source: docs/dev/wire/devin-desktop.md, "Processes".
 */
export class AppAgents {
  readonly #children: readonly ChildProcess[];

  constructor({ agentPath, command: [program = "", ...first], home }: AppAgentsStart) {
    const env = { HOME: home, MILLRACE_STAND_IN: "1", ACP_BACKEND: "windsurf" };
    this.#children = [["acp"], ["acp", "--agent-type", "summarizer"]].map((args) =>
      spawn(program, [...first, ...args], { argv0: agentPath, cwd: home, env, stdio: ["pipe", "ignore", "ignore"] }),
    );
  }

  get pids(): readonly number[] {
    return this.#children.flatMap(({ pid }) => pid ?? []);
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
        const exited = once(child, "exit");
        child.kill("SIGKILL");
        await exited;
      }),
    );
  }
}
