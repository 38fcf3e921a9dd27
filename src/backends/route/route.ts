import type { Clock } from "../../base/clock.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import type { ModelUid } from "../../base/ids.ts";
import type { UpstreamReason } from "../../language-server/errors/symptoms.ts";
import type { Capabilities } from "../../language-server/language-server.ts";
import type { IdeVariant } from "../../language-server/transport/endpoint.ts";
import type { AcpAgent } from "../acp/agent.ts";
import { agentOfConversation, agentOfModel, type Backend, type Backends } from "../backend.ts";
import { cascadeBackend } from "../cascade/backend.ts";
import { PollPacer } from "../cascade/poll-pacer.ts";
import { defaultPace, type PollPace } from "../cascade/poll-schedule.ts";
import type { IdeTools } from "../cascade/turn-view.ts";
import { CurrentServer, type PromptedIde, type ServerSource } from "../current-server.ts";
import { rawChatBackend } from "../raw-chat/run.ts";
import { type BackendMode, chooseBackend } from "./choose-backend.ts";
import { backendOf, type ConversationJournal, type PromptRoute } from "./prompt-route.ts";

/** The vendor's agent, and its name for people. */
export interface VendorAgent {
  readonly agent: AcpAgent;
  /** "Devin Desktop 3.10 (formerly Windsurf)", "Devin CLI". */
  readonly product: string;
  /** The program that discovery found; undefined if the user named the program. */
  readonly program?: PromptedIde;
  /** To be called before each prompt. */
  readonly onPrompt?: () => void;
}

/** The agent programs that prompts can go to. Asking for one starts no process. */
export interface Agents {
  /** The vendor's agent. Throws `ide_not_running` where none is installed, `not_signed_in` where no account is signed in. */
  vendor(signal: AbortSignal): Promise<VendorAgent>;
  /** The agent of that name that the user configured; undefined where there is none. */
  configured(name: string): AcpAgent | undefined;
  /** The agent of that name whose conversation was begun before. Throws as `vendor` does, and `invalid_request` for a name that is gone. */
  named(name: string, signal: AbortSignal): Promise<AcpAgent>;
}

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
  /** Whether only the vendor's agent offers a model, where the account's prompts go to the language server; none by default. */
  readonly isOnlyAgents?: (uid: ModelUid, signal: AbortSignal) => Promise<boolean>;
  /** Where conversations are noted. */
  readonly journal?: ConversationJournal;
  /** Waits for an IDE that is starting, and chooses once more; by default a missing IDE fails at once. */
  readonly onceThere?: (choose: () => Promise<Backend>, signal: AbortSignal) => Promise<Backend>;
}

/** Backends, and which one a prompt to the account's own models would go to now. */
export type OpenBackends = ReturnType<typeof openBackends>;

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
export function openBackends(options: BackendsOptions) {
  const { clock, agents, mode = "auto" } = options;
  const settings = {
    clock,
    pace: { ...defaultPace, ...options.pace },
    pacer: new PollPacer(clock),
    silenceMs: options.silenceMs ?? 10 * 60_000,
    acceptGraceMs: options.acceptGraceMs ?? 3_000,
    ideTools: options.ideTools ?? ("read" as const),
  };
  const retired = new Set<string>();
  const moved = new Set<string>();
  let denied = false;
  let ide: IdeVariant | undefined;

  /** An IDE that the user named by hand needs no further consent. */
  const consent = (ide: PromptedIde | undefined) => ide && options.checkConsent?.(ide);

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

  async function look(signal: AbortSignal) {
    const [found, agent] = await Promise.all([
      mode === "acp" ? notAsked : orError(server(signal)),
      agents !== undefined && (mode === "auto" || mode === "acp") ? orError(agents.vendor(signal)) : notAsked,
    ]);
    const offer = isMillraceError(found) ? found : { ...found, withoutCascade: withoutCascade(found) };
    ide = undefined;
    const choice = chooseBackend(mode, { server: offer, agent });
    if (choice.kind !== "acp" && !isMillraceError(found)) ide = found.current.server.endpoint.variant;
    if (choice.kind === "acp" && !isMillraceError(agent)) ide = agent.program?.variant ?? "windsurf";
    return { found, agent, choice };
  }

  function ofVendor({ agent, program, onPrompt }: VendorAgent): PromptRoute {
    consent(program);
    onPrompt?.();
    return ofAgent(agent);
  }

  function ofAgent(agent: AcpAgent): PromptRoute {
    return { backend: agent.backend, agent: agent.name, journal: options.journal };
  }

  function ofServer({ current, capabilities, key }: Server, kind: "cascade" | "raw_chat"): PromptRoute {
    if (kind === "raw_chat") return { backend: rawChatBackend(current.server), agent: undefined };
    const backend = cascadeBackend(options, current.server, capabilities, settings);
    return { backend, agent: undefined, journal: options.journal, onRefused: noteRefusal(key) };
  }

  /** A refusal before a conversation was about no particular model, so it applies to the build. */
  function noteRefusal(key: string): NonNullable<PromptRoute["onRefused"]> {
    return ({ details }, uid, begun) => {
      const { reason } = (details ?? {}) as { readonly reason?: UpstreamReason }; // the language server's own error
      if (begun && reason === "model_moved") moved.add(`${key} ${uid}`);
      else retired.add(key);
    };
  }

  /** A list that cannot be read now says nothing of the model: its prompt goes where the others go. */
  async function isOnlyAgents(uid: ModelUid, signal: AbortSignal): Promise<boolean> {
    const answer = await orError(options.isOnlyAgents?.(uid, signal) ?? Promise.resolve(false));
    return answer === true;
  }

  /** The way for a new prompt: by its model, else the one that works with the IDE that runs now. */
  async function routeFor(modelUid: ModelUid, signal: AbortSignal): Promise<PromptRoute> {
    const named = agents?.configured(agentOfModel(modelUid) ?? "");
    if (named !== undefined) return ofAgent(named);
    const { found, agent, choice } = await look(signal);
    if (!isMillraceError(agent)) {
      if (choice.kind === "acp" || (await isOnlyAgents(modelUid, signal))) return ofVendor(agent);
    }
    if (isMillraceError(found) || choice.kind === "acp") throw found; // the choice names what was found
    consent(options.ideOf?.(found.current.server));
    return ofServer(found, choice.kind);
  }

  const choose = async (uid: ModelUid, signal: AbortSignal) => backendOf(await routeFor(uid, signal));

  return {
    /** The IDE that the last look found for prompts; undefined before the first look, and where it found none. */
    get ide() {
      return ide;
    },
    /**
     * Sends no prompt and starts no agent. Throws what `choose` throws. `agent`: the vendor's, where it is the one. `beside`: the vendor's, where
     * prompts go to the language server: it takes those for models that only the agent offers. `isMoved`: whether the language server has
     * reported that it no longer answers this model, and the agent offers the model.
     */
    async chosen(signal: AbortSignal) {
      const { found, choice, agent } = await look(signal);
      const vendors = isMillraceError(agent) ? undefined : agent;
      const isMoved = (uid: string) => !isMillraceError(found) && moved.has(`${found.key} ${uid}`);
      if (choice.kind === "acp") return { ...choice, agent: vendors, beside: undefined, isMoved };
      return { ...choice, agent: undefined, beside: vendors, isMoved };
    },
    choose({ modelUid }: { readonly modelUid: ModelUid }, signal: AbortSignal): Promise<Backend> {
      const { onceThere } = options;
      return onceThere === undefined ? choose(modelUid, signal) : onceThere(() => choose(modelUid, signal), signal);
    },
    async holding({ backend, cascadeId }: Parameters<Backends["holding"]>[0], signal: AbortSignal): Promise<Backend> {
      const name = agentOfConversation(cascadeId);
      if (agents !== undefined && name !== undefined) return backendOf(ofAgent(await agents.named(name, signal)));
      if (agents !== undefined && backend === "acp") return backendOf(ofAgent((await agents.vendor(signal)).agent));
      const found = await server(signal);
      return backendOf(ofServer(found, found.capabilities.cascade ? "cascade" : "raw_chat"));
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
