import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { isMillraceError, MillraceError } from "../../../base/errors.ts";
import { agentError, clean } from "../errors.ts";
import type { AgentLaunch } from "../style.ts";
import type { AgentChild, StartChild } from "./agent-child.ts";
import { AgentProcess } from "./agent-process.ts";
import type { AcpAgentSpec } from "./agent-spec.ts";
import { ProcessGone } from "./rpc-peer.ts";

const endGraceMs = 1_000;
const defaultName = "millrace";
/** Some builds of Devin serve the vendor's own editor alone, by the name that it gives. */
const devinName = "windsurf";

/** Starts processes of one agent, each in its own empty folder and with its own environment, and sends `initialize`. */
export class AgentStarter {
  /** Everything that is kept of this agent is below it. */
  readonly folder: string;
  readonly #spec: AcpAgentSpec;
  readonly #clock: Clock;
  readonly #startChild: StartChild;
  agentVersion: string | undefined;

  constructor(spec: AcpAgentSpec, clock: Clock, startChild: StartChild) {
    this.#spec = spec;
    this.#clock = clock;
    this.#startChild = startChild;
    this.folder = join(spec.folder, encodeURIComponent(spec.name));
  }

  /** Throws `upstream_failed` when it does not start, `upstream_timeout` when it does not answer, `not_signed_in`. */
  async start(launch: AgentLaunch, signal: AbortSignal): Promise<AgentProcess> {
    const spec = this.#spec;
    const cwd = join(this.folder, "millrace-empty"); // agents name sessions by their folder
    await mkdir(cwd, { recursive: true, mode: 0o700 });
    const secrets = Object.entries((await spec.secrets?.(signal)) ?? {}).map(
      ([name, secret]) => [name, secret.reveal()] as const, // for this process's environment, and to take it out of texts
    );
    const environment = { ...spec.environment, ...Object.fromEntries(secrets) };
    const child = await this.#startChild({ command: spec.command, args: launch.args, environment, cwd }, this.#clock);
    try {
      const process = await AgentProcess.greet(child, { names: this.#names(), cwd, clock: this.#clock }, signal);
      const { name = spec.name, version = "" } = process.abilities;
      this.agentVersion = `${name} ${version}`.trim();
      return process;
    } catch (error) {
      await child.end(endGraceMs);
      signal.throwIfAborted();
      throw this.#startError(
        error,
        child,
        secrets.map(([, value]) => value),
      );
    }
  }

  #names(): readonly string[] {
    const { clientName = defaultName, vendor } = this.#spec;
    return vendor === "devin" && clientName !== devinName ? [clientName, devinName] : [clientName];
  }

  #startError(error: unknown, child: AgentChild, secrets: readonly string[]): MillraceError {
    const { name, command, vendor } = this.#spec;
    let said = child.errorTail();
    for (const secret of secrets) if (secret !== "") said = said.replaceAll(secret, "[redacted]");
    const lastLines = said
      .split("\n")
      .map(clean)
      .filter((line) => line !== "")
      .slice(-5);
    const details = lastLines.length === 0 ? {} : { details: { standardError: lastLines } };
    if (error instanceof ProcessGone) {
      const isMissing = error.message === "exit code 127" || error.message === "exit code 126";
      const message = isMissing
        ? `The agent "${name}" could not be started: "${command}" is not there or cannot be run.`
        : `The agent "${name}" ended while it was started (${error.message}).`;
      return new MillraceError("upstream_failed", message, { hint: startHint, cause: error, ...details });
    }
    const translated = agentError(error, { agent: name, vendor, nowMs: this.#clock.now() });
    if (!isMillraceError(error) && translated.code === "upstream_timeout")
      return new MillraceError(
        "upstream_timeout",
        `The agent "${name}" did not answer within a minute after its start.`,
        {
          hint: startHint,
          cause: error,
          ...details,
        },
      );
    return translated;
  }
}

const startHint =
  "Check the agent's command in the configuration, and start it by hand to see its messages. `millrace doctor` shows more.";
