import { noSession } from "./access.ts";
import type { AgentOptions } from "./agent-options.ts";
import { agentModels } from "./models.ts";
import { configOptionsOf, modesOf, type Session } from "./session.ts";

/** The sessions that this process has opened or loaded. */
export class OpenSessions {
  /** Whether its agent type has a model option. */
  readonly hasModelOption: boolean;
  readonly #model: string | undefined;
  readonly #sessions = new Map<string, Session>();

  /** @param model the model that a new session starts with, where the account has it. */
  constructor(hasModelOption: boolean, model: string | undefined) {
    this.hasModelOption = hasModelOption;
    this.#model = model;
  }

  open(sessionId: string, cwd: string, { free }: AgentOptions): Session {
    const models = agentModels(free);
    const wanted = models.find(({ id }) => id === this.#model) ?? models[0];
    const session: Session = {
      sessionId,
      cwd,
      model: wanted?.id ?? "",
      mode: "accept-edits",
      effort: "medium",
      running: undefined,
      cancelNext: false,
      mcp: [],
    };
    this.#sessions.set(sessionId, session);
    return session;
  }

  /** The content of the reply to `session/new`. */
  described(session: Session, { free, efforts }: AgentOptions) {
    return {
      sessionId: session.sessionId,
      modes: modesOf(session),
      configOptions: configOptionsOf(session, agentModels(free), {
        hasModel: this.hasModelOption,
        hasEfforts: efforts,
      }),
    };
  }

  find(sessionId: unknown): Session | undefined {
    return this.#sessions.get(String(sessionId));
  }

  /** @throws RpcError where this process has no such session. */
  get(sessionId: unknown): Session {
    const session = this.find(sessionId);
    if (session === undefined) throw noSession(String(sessionId));
    return session;
  }

  delete(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  all(): readonly Session[] {
    return [...this.#sessions.values()];
  }
}
