import { basename } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { isMillraceError, MillraceError } from "../../../base/errors.ts";
import { quotable, withoutSecrets } from "../../../base/shown-text.ts";
import type { HostedChild } from "../host/hosted-child.ts";
import type { AgentHosts } from "../host/hosts.ts";
import { spawnChild } from "../host/spawn-child.ts";
import type { LinesLost } from "../host/wire.ts";
import type { AcpAgentSpec } from "../known/agent-spec.ts";
import { type AgentLaunch, clientNames } from "../known/devin.ts";
import { fencelessSettings, fitOf } from "../known/own-settings.ts";
import { readAbilities } from "../wire/abilities.ts";
import type { AgentChild, StartChild } from "../wire/agent-child.ts";
import { ProcessLoss } from "../wire/rpc-peer.ts";
import { type Connection, greet, type Start } from "./connection.ts";
import { agentError, slowStart, unfit } from "./errors.ts";
import { type KeptProcess, readKept } from "./kept-process.ts";
import { agentCwd, agentFolder, prepareLaunch } from "./prepare-launch.ts";

const endGraceMs = 1_000;

/** A process that another gateway left, and how that one left it. */
export interface LeftProcess {
  /** The key of its launch; undefined where its settings have changed. */
  readonly key: string | undefined;
  readonly child: AgentChild;
  readonly start: Start;
  readonly kept: KeptProcess;
  /** Why its host gave up lines. */
  readonly lost: LinesLost | undefined;
}

/** Starts processes of one agent, each in its own empty folder and with its own environment, and sends `initialize`. */
export class AgentStarter {
  /** Everything that is kept of this agent is below it. */
  readonly folder: string;
  readonly #spec: AcpAgentSpec;
  readonly #clock: Clock;
  readonly #startChild: StartChild;
  agentVersion: string | undefined;
  /** The versions that were tried, where the agent's is newer. */
  newerThan: string | undefined;

  readonly #hosts: AgentHosts | undefined;

  constructor(
    spec: AcpAgentSpec,
    {
      clock,
      startChild,
      hosts,
    }: {
      readonly clock: Clock;
      /** Starts a process; a real one by default, in a host if there are hosts. */
      readonly startChild?: StartChild | undefined;
      readonly hosts: AgentHosts | undefined;
    },
  ) {
    this.#spec = spec;
    this.#clock = clock;
    this.#hosts = hosts;
    this.#startChild = startChild ?? (hosts === undefined ? spawnChild : (launch) => hosts.start(launch));
    this.folder = agentFolder(spec);
  }

  /** `onChild` gets its process before the agent answers. Throws `upstream_failed` when it does not start, `upstream_timeout` when it does not answer, `not_signed_in`. */
  async start(launch: AgentLaunch, onChild: (child: AgentChild) => void, signal: AbortSignal): Promise<Connection> {
    const { cwd, own, environment, secrets, settings } = await prepareLaunch(this.#spec, signal);
    const args = [...launch.args, ...own.args];
    const child = await this.#startChild({ command: this.#spec.command, args, environment, cwd }, this.#clock);
    onChild(child);
    try {
      const start = {
        names: this.#spec.vendor === "devin" ? clientNames : clientNames.slice(0, 1),
        cwd,
        own,
        launch: launch.key,
        settings,
        clock: this.#clock,
      };
      const connection = await greet(child, start, signal);
      this.#met(connection.initialized);
      const abilities = readAbilities(connection.initialized);
      const refusal = unfit(this.#spec.name, basename(this.#spec.command), abilities, fitOf(this.#spec, abilities));
      if (refusal !== undefined) throw refusal;
      return connection;
    } catch (error) {
      await child.end(endGraceMs);
      signal.throwIfAborted();
      throw this.#startError(error, child, secrets);
    }
  }

  /** The processes that the gateway before left in hosts since the last call; `isBusy` as of `AgentHosts.takeOver`. */
  async takeOver(signal: AbortSignal): Promise<{ readonly left: readonly LeftProcess[]; readonly isBusy: boolean }> {
    const { children = [], isBusy = false } = (await this.#hosts?.takeOver(signal)) ?? {};
    if (children.length === 0) return { left: [], isBusy };
    const now = await prepareLaunch(this.#spec, signal).catch(() => undefined); // its running turns need no account any more
    const left = children.flatMap((child) => {
      const kept = keptIn(child);
      if (kept === undefined) {
        void child.end(endGraceMs); // its gateway was killed before the agent had answered
        return [];
      }
      const own = { ...(now?.own ?? fencelessSettings(this.#spec)), server: kept.server };
      const start = { cwd: agentCwd(this.#spec), own, launch: kept.launch, settings: kept.settings };
      this.#met(kept.initialized);
      const key = kept.settings === now?.settings ? kept.launch : undefined;
      return [{ key, child, start, kept, lost: child.lost }];
    });
    return { left, isBusy };
  }

  /** Notes the version of an agent that has answered. */
  #met(initialized: unknown): void {
    const says = readAbilities(initialized);
    this.agentVersion = says.program || this.#spec.name;
    const fit = fitOf(this.#spec, says);
    this.newerThan = fit.is === "newer" ? fit.tried : undefined;
  }

  #startError(error: unknown, child: AgentChild, secrets: readonly string[]): MillraceError {
    const { name, command } = this.#spec;
    const lastLines = withoutSecrets(child.errorTail(), secrets)
      .split("\n")
      .map((line) => quotable(line))
      .filter((line) => line !== "")
      .slice(-5);
    const details = lastLines.length === 0 ? {} : { details: { standardError: lastLines } };
    if (error instanceof ProcessLoss) {
      const isMissing = error.message === "exit code 127" || error.message === "exit code 126";
      const message = isMissing
        ? `The agent "${name}" could not be started: "${command}" is not there or cannot be run.`
        : `The agent "${name}" ended while it was started (${error.message}).`;
      return new MillraceError("upstream_failed", message, { hint: startHint, cause: error, ...details });
    }
    const translated = agentError(error, { spec: this.#spec, clock: this.#clock });
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

/** The note of the gateway before; undefined where it left none. */
function keptIn({ state, parts }: HostedChild): KeptProcess | undefined {
  try {
    return state === undefined ? undefined : readKept(state, parts);
  } catch {
    return undefined;
  }
}

const startHint =
  "Check the agent's command in the configuration, and start it by hand to see its messages. `millrace doctor` shows more.";

/** How long an agent is waited for that was not prompted yet: since it last wrote anything, and in all; ms. */
const silentMs = 10_000;
const longestMs = 60_000;

/**
 * Resolves with the error for the client once an agent that starts was waited for long enough. `heardMs`: when it last wrote anything, by the
 * monotonic clock; `method`: the request without a reply. Rejects with the signal's reason.
 */
export async function untilSlow(
  agent: { readonly name: string; heardMs(): number; method(): string },
  clock: Clock,
  signal: AbortSignal,
): Promise<MillraceError> {
  const beganMs = clock.monotonic();
  const lastMs = beganMs + longestMs;
  for (;;) {
    const quietMs = Math.max(beganMs, agent.heardMs()) + silentMs;
    const leftMs = Math.min(quietMs, lastMs) - clock.monotonic();
    if (leftMs <= 0) return slowStart(agent.name, agent.method(), { isSilent: quietMs < lastMs });
    await clock.sleep(leftMs, signal);
  }
}
