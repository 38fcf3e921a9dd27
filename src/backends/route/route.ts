import type { Clock } from "../base/clock.ts";
import { isMillraceError, MillraceError } from "../base/errors.ts";
import type { ModelUid } from "../base/ids.ts";
import type { UpstreamReason } from "../language-server/errors/error-table.ts";
import type { Capabilities } from "../language-server/language-server.ts";
import type { IdeVariant } from "../language-server/transport/endpoint.ts";
import type { AcpModel } from "./acp/agent.ts";
import {
  type Agents,
  agentOfConversation,
  agentOfModel,
  configuredBackend,
  ownConversations,
  type PromptedIde,
  type VendorAgent,
  withModelIds,
} from "./agent-backend.ts";
import type { Backend, Backends, Batch, Prompt, RunOptions } from "./backend.ts";
import { cascadeBackend } from "./cascade/backend.ts";
import type { IdeTools } from "./cascade/follower.ts";
import { PollPacer } from "./cascade/poll-pacer.ts";
import { defaultPace, type PollPace } from "./cascade/poll-schedule.ts";
import { type BackendChoice, type BackendMode, chooseBackend } from "./choose-backend.ts";
import { CurrentServer, type ServerSource } from "./current-server.ts";
import { rawChatBackend } from "./raw-chat/run.ts";

export interface BackendsOptions extends ServerSource {
  readonly clock: Clock;
  readonly pace?: Partial<PollPace>;
  /** How long a turn may show no sign of life; 10 min by default: a thinking model pauses for minutes. */
  readonly silenceMs?: number;
  /** How long to look for a prompt whose sending was cut off; 3 s by default. A prompt that arrived shows within a second. */
  readonly acceptGraceMs?: number;
  /** Whether the IDE's agent may look things up while it answers; `read` by default. */
  readonly ideTools?: IdeTools;
  /** The agent programs of this machine; none by default. */
  readonly agents?: Agents;
  /** `auto` by default. */
  readonly mode?: BackendMode;
  /** Throws where no prompt may go to this IDE; prompts may go to any without it. */
  readonly checkConsent?: (ide: PromptedIde) => void;
  /** The agent's name for a model of the language server's list; undefined if the agent has no such model. */
  readonly agentIdOf?: (uid: ModelUid, listed: readonly AcpModel[]) => string | undefined;
  /** Whether only the vendor's agent offers a model, where the account's prompts go to the language server; none by default. */
  readonly isOnlyAgents?: (uid: ModelUid, signal: AbortSignal) => Promise<boolean>;
}

/** Where a prompt to the account's own models would go now. */
export interface BackendRoute extends BackendChoice {
  /** The vendor's agent, where it is the one. */
  readonly agent: VendorAgent | undefined;
  /** The vendor's agent, where prompts go to the language server: it takes those for models that only the agent offers. */
  readonly beside: VendorAgent | undefined;
  /** Whether the language server has reported that it no longer answers this model, and the agent offers the model. */
  readonly isMoved: (uid: string) => boolean;
}

/** Backends, and which one a prompt to the account's own models would go to now. */
export interface OpenBackends extends Backends {
  /** Sends no prompt and starts no agent. Throws what `choose` throws. */
  chosen(signal: AbortSignal): Promise<BackendRoute>;
  /** The IDE that the last look found for prompts; undefined before the first look, and where it found none. */
  readonly ide: IdeVariant | undefined;
}

const defaultSilenceMs = 10 * 60_000;
const defaultAcceptGraceMs = 3_000;

interface Server {
  readonly current: CurrentServer;
  readonly build: string;
  readonly capabilities: Capabilities;
  /** Names the build in the memory of retired ones. */
  readonly key: string;
}

/**
 * The backends of this machine: an agent program that speaks ACP, Cascade, or raw chat on the oldest servers. A server that seems
 * gone is looked for once more. A build whose Cascade is retired is remembered while the gateway runs, and a model that Cascade no
 * longer answers as well.
 */
export function openBackends(options: BackendsOptions): OpenBackends {
  const { clock, agents, mode = "auto" } = options;
  const settings = {
    clock,
    pace: { ...defaultPace, ...options.pace },
    pacer: new PollPacer(clock),
    silenceMs: options.silenceMs ?? defaultSilenceMs,
    acceptGraceMs: options.acceptGraceMs ?? defaultAcceptGraceMs,
    ideTools: options.ideTools ?? ("read" as const),
  };
  const retired = new Set<string>();
  /** Builds whose answers had text after their end. */
  const late = new Set<string>();
  const moved = new Set<string>();
  let denied = false;
  let ide: IdeVariant | undefined;

  /** An IDE that the user named by hand needs no further consent. */
  function consent(ide: PromptedIde | undefined): void {
    if (ide !== undefined) options.checkConsent?.(ide);
  }

  async function server(signal: AbortSignal): Promise<Server> {
    const current = new CurrentServer(options, await options.find(signal));
    const capabilities = await current.twice((found) => found.capabilities(signal), signal);
    const build = options.buildOf?.(current.server) ?? "";
    return { current, capabilities, build, key: `${current.server.endpoint.variant}@${build}` };
  }

  /** A restarted server was not asked for its account yet: the answer of the one before it counts. */
  function withoutCascade({ current, key }: Server): "removed" | "denied" | undefined {
    if (retired.has(key)) return "removed";
    denied = current.server.cascadeDenied ?? denied;
    return denied ? "denied" : undefined;
  }

  async function vendor(signal: AbortSignal): Promise<VendorAgent | MillraceError> {
    return agents === undefined ? notAsked : orError(agents.vendor(signal));
  }

  async function look(signal: AbortSignal) {
    const [found, agent] = await Promise.all([
      mode === "acp" ? notAsked : orError(server(signal)),
      mode === "auto" || mode === "acp" ? vendor(signal) : notAsked,
    ]);
    const offer = isMillraceError(found) ? found : { ...found, withoutCascade: withoutCascade(found) };
    ide = undefined;
    const choice = chooseBackend(mode, { server: offer, agent });
    if (choice.kind !== "acp" && !isMillraceError(found)) ide = found.current.server.endpoint.variant;
    if (choice.kind === "acp" && !isMillraceError(agent)) ide = agent.program?.variant ?? "windsurf";
    return { found, agent, choice };
  }

  async function ofServer({ current, capabilities, key }: Server, kind: "cascade" | "raw_chat"): Promise<Backend> {
    if (kind === "raw_chat") return ownConversations(rawChatBackend(current.server), undefined);
    const lateText = {
      get isExpected() {
        return late.has(key);
      },
      note: () => void late.add(key),
    };
    const own = { ...settings, lateText };
    const cascade = ownConversations(cascadeBackend(options, current.server, capabilities, own), undefined);
    return fallingOver(cascade, {
      onRetired: () => retired.add(key),
      onMoved: (uid) => moved.add(`${key} ${uid}`),
      async instead(signal) {
        const agent = mode === "auto" ? await vendor(signal) : undefined;
        if (agent === undefined || isMillraceError(agent)) return undefined;
        consent(agent.program);
        return withModelIds(ofVendor(agent), async (uid, waiting) => {
          const listed = await agent.agent.models(waiting);
          return listed.some(({ id }) => id === uid) ? uid : (options.agentIdOf?.(uid, listed) ?? uid);
        });
      },
    });
  }

  /** A list that cannot be read now says nothing of the model: its prompt goes where the others go. */
  async function isOnlyAgents(uid: ModelUid, signal: AbortSignal): Promise<boolean> {
    const answer = await orError(options.isOnlyAgents?.(uid, signal) ?? Promise.resolve(false));
    return answer === true;
  }

  return {
    get ide() {
      return ide;
    },
    async chosen(signal) {
      const { found, choice, agent } = await look(signal);
      const vendors = isMillraceError(agent) ? undefined : agent;
      const isMoved = (uid: string) => !isMillraceError(found) && moved.has(`${found.key} ${uid}`);
      if (choice.kind === "acp") return { ...choice, agent: vendors, beside: undefined, isMoved };
      return { ...choice, agent: undefined, beside: vendors, isMoved };
    },
    async choose({ modelUid }, signal) {
      const named = agents?.configured(agentOfModel(modelUid) ?? "");
      if (named !== undefined) return ownConversations(configuredBackend(named), named.name);
      const { found, agent, choice } = await look(signal);
      if (!isMillraceError(agent)) {
        if (choice.kind === "acp" || (await isOnlyAgents(modelUid, signal))) {
          consent(agent.program);
          return ofVendor(agent);
        }
      }
      if (isMillraceError(found) || choice.kind === "acp") throw found; // the choice names what was found
      consent(options.ideOf?.(found.current.server));
      return ofServer(found, choice.kind);
    },
    async holding({ backend, cascadeId }, signal) {
      const name = agentOfConversation(cascadeId);
      if (agents !== undefined && name !== undefined) return configuredBackend(await agents.named(name, signal));
      if (agents !== undefined && backend === "acp") return ofVendor(await agents.vendor(signal));
      const found = await server(signal);
      const { cascade, steps, transcript } = found.capabilities;
      return ofServer(found, cascade && (steps || transcript) ? "cascade" : "raw_chat");
    },
  };
}

/** Stands in for a program that the mode or the caller leaves out of the search. */
const notAsked = new MillraceError("ide_not_running", "No agent program of the IDE was found here.", {
  hint: "Install Devin Desktop or the Devin CLI, and sign in there.",
});

async function orError<T>(promise: Promise<T>): Promise<T | MillraceError> {
  try {
    return await promise;
  } catch (error) {
    if (isMillraceError(error)) return error;
    throw error;
  }
}

function ofVendor({ agent }: VendorAgent): Backend {
  return ownConversations(agent.backend, agent.name);
}

interface Failover {
  /** Called when Cascade reports that it was removed from this build. */
  readonly onRetired: () => void;
  /** Called when Cascade reports that it no longer answers this model. */
  readonly onMoved: (uid: ModelUid) => void;
  /** The backend to ask instead; undefined if there is none. */
  readonly instead: (signal: AbortSignal) => Promise<Backend | undefined>;
}

/**
 * Wraps a Cascade backend. If Cascade turns out to be retired before a conversation exists, the turn goes to another backend: no
 * prompt was sent yet, so none is sent twice. A row of docs/retries.md. Once a conversation exists, the error stays the turn's, and
 * later turns remember it. A refusal before a conversation was about no particular model, so it applies to the build.
 */
function fallingOver(inner: Backend, { onRetired, onMoved, instead }: Failover): Backend {
  return {
    ...inner,
    run: (prompt, options, signal) => run(prompt, options, signal),
    resume: (prompt, from, options, signal) => resume(prompt, inner.resume(prompt, from, options, signal)),
  };

  async function* run(prompt: Prompt, options: RunOptions, signal: AbortSignal): AsyncGenerator<Batch, void> {
    let begun = false;
    for await (const batch of inner.run(prompt, options, signal)) {
      note(batch, prompt, begun);
      if (!begun && refusalIn(batch) !== undefined) {
        const other = await instead(signal);
        if (other !== undefined) {
          yield* other.run(prompt, options, signal);
          return;
        }
      }
      begun = true;
      yield batch;
    }
  }

  async function* resume(prompt: Prompt, batches: AsyncIterable<Batch>): AsyncGenerator<Batch, void> {
    for await (const batch of batches) {
      note(batch, prompt, true);
      yield batch;
    }
  }

  function note(batch: Batch, { modelUid }: Prompt, begun: boolean): void {
    const refusal = refusalIn(batch);
    if (refusal === undefined) return;
    if (begun && refusal === "model_moved") onMoved(modelUid);
    else onRetired();
  }
}

/** The reason in an error's details why Cascade no longer answers; undefined for any other batch. */
function refusalIn(batch: Batch): UpstreamReason | undefined {
  for (const event of batch) {
    if (event.type !== "failed" || event.error.code !== "backend_retired") continue;
    const { reason } = (event.error.details ?? {}) as { readonly reason?: UpstreamReason }; // the language server's own error
    return reason ?? "retired";
  }
  return undefined;
}
