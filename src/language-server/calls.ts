import type { CallOptions } from "@connectrpc/connect";
import { isMillraceError, MillraceError } from "../base/errors.ts";
import { type RetryPolicy, type RetryPorts, retry } from "../base/retry.ts";
import { type ErrorContext, translateError, upstreamReason } from "./errors/errors.ts";

/** How long each kind of call may take, in ms. */
export interface Deadlines {
  readonly ping: number;
  /** Steps, status, transcript, usage, capabilities, cancel, archive. */
  readonly read: number;
  /** The account with all its models. */
  readonly userStatus: number;
  readonly panelState: number;
  readonly startCascade: number;
  readonly sendUserMessage: number;
  /** A whole raw chat answer. */
  readonly rawChat: number;
}

export const defaultDeadlines: Deadlines = {
  ping: 3_000,
  read: 10_000,
  userStatus: 20_000,
  panelState: 20_000,
  startCascade: 30_000,
  sendUserMessage: 30_000,
  rawChat: 600_000,
};

const readPolicy: RetryPolicy = { attempts: 3, baseMs: 100, capMs: 1_000 };

/** Runs RPCs: a deadline on each, foreign errors made ours, reading ones repeated where a lost connection may pass. */
export class Calls {
  readonly #context: () => ErrorContext;
  readonly #ports: RetryPorts;
  #closed = false;

  constructor(context: () => ErrorContext, ports: RetryPorts) {
    this.#context = context;
    this.#ports = ports;
  }

  /** From now on every call throws `cancelled`. */
  close(): void {
    this.#closed = true;
  }

  /** One attempt, never repeated. */
  once<T>(rpc: (options: CallOptions) => Promise<T>, timeoutMs: number, signal: AbortSignal): Promise<T> {
    if (this.#closed) return Promise.reject(closedError());
    return rpc({ signal, timeoutMs }).catch((error: unknown) => {
      throw this.translate(error, signal);
    });
  }

  /**
   * For calls that change nothing: done again, a few times, when the connection broke. A row of docs/dev/turn-machine.md. `onFailure` hears of the
   * last error.
   */
  read<T>(
    rpc: (options: CallOptions) => Promise<T>,
    timeoutMs: number,
    signal: AbortSignal,
    onFailure?: (error: unknown) => void,
  ): Promise<T> {
    if (this.#closed) return Promise.reject(closedError());
    // one promise where the first attempt succeeds: every poll comes through here
    return rpc({ signal, timeoutMs }).catch(async (cause: unknown) => {
      let first: Promise<T> | undefined = Promise.reject(this.translate(cause, signal));
      const work = () => {
        const attempt = first ?? this.once(rpc, timeoutMs, signal);
        first = undefined;
        return attempt;
      };
      try {
        return await this.again(work, connectionMayReturn, readPolicy, signal);
      } catch (error) {
        onFailure?.(error);
        throw error;
      }
    });
  }

  again<T>(
    work: () => Promise<T>,
    mayRepeat: (error: unknown) => boolean,
    policy: RetryPolicy,
    signal: AbortSignal,
  ): Promise<T> {
    const options = { ...this.#ports, mayRepeat: (error: unknown) => !this.#closed && mayRepeat(error) };
    return retry(work, policy, options, signal).catch((error: unknown) => {
      throw this.translate(error, signal);
    });
  }

  /** @throws `cancelled` once the connection has been closed here. */
  check(): void {
    if (this.#closed) throw closedError();
  }

  translate(error: unknown, signal: AbortSignal): MillraceError {
    if (this.#closed && !signal.aborted) return isMillraceError(error) ? error : closedError(error);
    return translateError(error, this.#context(), signal);
  }
}

function connectionMayReturn(error: unknown): boolean {
  const reason = upstreamReason(error);
  return reason === "connection_lost" || reason === "unavailable" || reason === "upstream_dropped";
}

function closedError(cause?: unknown): MillraceError {
  return new MillraceError("cancelled", "The connection to the IDE's server has been closed.", { cause });
}
