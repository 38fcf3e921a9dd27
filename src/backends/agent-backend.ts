import { MillraceError, toMillraceError } from "../base/errors.ts";
import type { CascadeId, ModelUid } from "../base/ids.ts";
import type { IdeVariant } from "../language-server/transport/endpoint.ts";
import type { AcpAgent } from "./acp/agent.ts";
import type { Backend, Batch, Prompt } from "./backend.ts";

/** The agent in `<agent>/<model>`; undefined where a model's UID names none. */
export function agentOfModel(uid: string): string | undefined {
  const end = uid.indexOf("/");
  return end <= 0 ? undefined : uid.slice(0, end);
}

/** The agent in `acp:<agent>:<session id>`; undefined for a conversation of a language server. */
export function agentOfConversation(id: CascadeId | undefined): string | undefined {
  return /^acp:([^:]+):/.exec(id ?? "")?.[1];
}

/** The backend of a configured agent: models carry the agent's name here, and lose it on the way to the agent. */
export function configuredBackend(agent: AcpAgent): Backend {
  const prefix = `${agent.name}/`;
  return withModelIds(agent.backend, async (uid) => (uid.startsWith(prefix) ? uid.slice(prefix.length) : uid));
}

/** A backend that calls models otherwise than the turn does: `idOf` answers its id. Events say the turn's. */
export function withModelIds(inner: Backend, idOf: (uid: ModelUid, signal: AbortSignal) => Promise<string>): Backend {
  const translated = async (prompt: Prompt, signal: AbortSignal): Promise<Prompt> => {
    const modelUid = (await idOf(prompt.modelUid, signal)) as ModelUid; // what the backend takes
    return { ...prompt, modelUid };
  };
  return {
    ...inner,
    async *run(prompt, options, signal) {
      const asked = await orFailed(translated(prompt, signal), signal);
      if (asked === undefined) return;
      if ("failed" in asked) yield asked.failed;
      else yield* renamed(inner.run(asked, options, signal), prompt.modelUid);
    },
    async *resume(prompt, from, options, signal) {
      const asked = await orFailed(translated(prompt, signal), signal);
      if (asked === undefined) return;
      if ("failed" in asked) yield asked.failed;
      else yield* inner.resume(asked, from, options, signal);
    },
  };
}

/** Errors of the upstream are events, never exceptions; an abort ends a run without a word. */
async function orFailed(
  asked: Promise<Prompt>,
  signal: AbortSignal,
): Promise<Prompt | { readonly failed: Batch } | undefined> {
  try {
    return await asked;
  } catch (error) {
    return signal.aborted ? undefined : { failed: [{ type: "failed", error: toMillraceError(error).toRecord() }] };
  }
}

/** Says the model in `started` as the turn knows it. */
async function* renamed(batches: AsyncIterable<Batch>, modelUid: ModelUid): AsyncGenerator<Batch, void> {
  for await (const batch of batches) {
    yield batch.map((event) => (event.type === "started" ? { ...event, modelUid } : event));
  }
}

/**
 * A backend that refuses to go on in a conversation of another one, before anything is sent: the caller then sends the whole
 * history into a new conversation. It happens when an update of the IDE, or a setting, changed the backend meanwhile.
 */
export function ownConversations(inner: Backend, agentName: string | undefined): Backend {
  return {
    ...inner,
    run: (prompt, options, signal) =>
      prompt.continues !== undefined && agentOfConversation(prompt.continues) !== agentName
        ? refused()
        : inner.run(prompt, options, signal),
  };
}

async function* refused(): AsyncGenerator<Batch, void> {
  const message = "The conversation was started with another backend, so this one cannot continue it.";
  yield [{ type: "failed", error: new MillraceError("upstream_failed", message).toRecord() }];
}

/** The product that prompts go to, and whose plan they use. */
export interface PromptedIde {
  readonly variant: IdeVariant;
  readonly product: string;
  /** A stand-in of `millrace simulate`: it spends no plan. */
  readonly standIn?: true;
}

/** The vendor's agent, and its name for people. */
export interface VendorAgent {
  readonly agent: AcpAgent;
  /** "Devin Desktop 3.10 (formerly Windsurf)", "Devin CLI". */
  readonly product: string;
  /** The program that discovery found; undefined if the user named the program. */
  readonly program?: PromptedIde;
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
