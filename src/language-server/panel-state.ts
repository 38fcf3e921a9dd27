import { SharedCall } from "../base/shared-call.ts";
import { upstreamReason } from "./errors/errors.ts";

/** Whether the server reports that it started nothing because the panel state is missing. We can make that state again. */
export function lostPanel(error: unknown): boolean {
  const reason = upstreamReason(error);
  return reason === "panel_state_lost" || reason === "untrusted_workspace";
}

/**
 * The panel state of one server: made once, shared by concurrent callers, made anew on demand. A server is one CSRF
 * token: after a restart there is another client, with another one of these.
 *
 * Source: docs/dev/wire/cascade.md, "Panel state"; docs/dev/wire/language-server.md, "After a restart".
 */
export class PanelState {
  readonly #initialize: (signal: AbortSignal) => Promise<void>;
  readonly #call = new SharedCall<void>();
  #ready = false;

  constructor(initialize: (signal: AbortSignal) => Promise<void>) {
    this.#initialize = initialize;
  }

  /** Resolves once the panel state is there. With `force` it is made again, once for all who ask meanwhile. */
  async ensure(force: boolean, signal: AbortSignal): Promise<void> {
    if (force) this.#ready = false;
    if (this.#ready) return;
    await this.#call.join(async (shared) => {
      await this.#initialize(shared);
      this.#ready = true;
    }, signal);
  }

  /** Called when the server reports that it has no panel state. */
  forget(): void {
    this.#ready = false;
  }
}
