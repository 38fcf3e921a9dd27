import { isMillraceError, MillraceError } from "../base/errors.ts";
import { callFailure } from "../language-server/errors/call-failure.ts";
import type { LanguageServer } from "../language-server/language-server.ts";
import type { IdeVariant } from "../language-server/transport/endpoint.ts";

/** The product that prompts go to, and whose plan they use. */
export interface PromptedIde {
  readonly variant: IdeVariant;
  readonly product: string;
  /** A stand-in of `millrace simulate`: it spends no plan. */
  readonly standIn?: true;
}

/** The reason in the details of an error: the program that prompts went to is away, and no other one is asked in its place. */
export const awaitedReason = "awaited";

/** How a backend gets at the server of the IDE that runs now. */
export interface ServerSource {
  /** Throws `ide_not_running`, `not_signed_in`, `upstream_failed`. */
  find(signal: AbortSignal): Promise<LanguageServer>;
  /** A call to this server failed as if it were gone, or another program: `find` must look again. */
  forget(server: LanguageServer, error?: unknown): void;
  /** The version of the editor that a server belongs to (`3.10.48`); undefined if it is unknown. */
  buildOf?(server: LanguageServer): string | undefined;
  /** The IDE that discovery found for a server; undefined for a server that the user named by its address. */
  ideOf?(server: LanguageServer): PromptedIde | undefined;
}

/** The server that a turn talks to, which is another one after the IDE restarted it. */
export class CurrentServer {
  readonly #source: ServerSource;
  #server: LanguageServer;
  #restarted = false;

  constructor(source: ServerSource, server: LanguageServer) {
    this.#source = source;
    this.#server = server;
  }

  get server(): LanguageServer {
    return this.#server;
  }

  /** Whether the server is another one than at first. */
  get restarted(): boolean {
    return this.#restarted;
  }

  /** Looks for the server again; a new one gets its panel state. Throws what looking throws. */
  async again(signal: AbortSignal): Promise<void> {
    this.#source.forget(this.#server);
    const server = await this.#source.find(signal);
    if (server === this.#server) return;
    this.#server = server;
    this.#restarted = true;
    await server.ensurePanelState({ force: false }, signal);
  }

  /** The same, for a caller that asks the server next, and learns there that it was not found. Rejects with the signal's reason. */
  async tryAgain(signal: AbortSignal): Promise<void> {
    await this.again(signal).catch(() => signal.throwIfAborted());
  }

  /**
   * Makes a call, and repeats it once if that can help: after `repair` has corrected the failure, or on the server that runs now if
   * the first server seems to be gone. A call that broke because another request looked for the IDE again is repeated up to three
   * times. A row in `docs/dev/turn-machine.md`; no wait.
   */
  async twice<T>(
    call: (server: LanguageServer) => Promise<T>,
    signal: AbortSignal,
    repair: (error: unknown) => Promise<boolean> = async () => false,
  ): Promise<T> {
    for (let repeats = 0; ; repeats++) {
      try {
        return await call(this.#server);
      } catch (error) {
        if (signal.aborted) throw error;
        const isClosedHere = isMillraceError(error) && error.code === "cancelled";
        if (repeats >= (isClosedHere ? mostAfterClosing : 1)) throw isClosedHere ? lookingAgain(error) : error;
        if (repeats === 0 && (await repair(error))) continue;
        const kind = callFailure(error);
        if (kind !== "not_sent" && kind !== "interrupted" && kind !== "unauthenticated") throw error;
        if (!isClosedHere) this.#source.forget(this.#server, error);
        this.#server = await this.#source.find(signal);
      }
    }
  }
}

const mostAfterClosing = 3;

function lookingAgain(cause: unknown): MillraceError {
  return new MillraceError(
    "upstream_failed",
    "The IDE's server changed again and again while Millrace called it. No prompt was sent.",
    {
      hint: "Wait until the IDE has started, then send the request again.",
      cause,
    },
  );
}
