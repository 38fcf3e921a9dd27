import type { CallOptions } from "@connectrpc/connect";
import { isMillraceError, type MillraceError } from "../base/errors.ts";
import { type RetryPolicy, type RetryPorts, retry } from "../base/retry.ts";
import { SharedCall } from "../base/shared-call.ts";
import { type ErrorContext, translateError, upstreamReason } from "./errors/errors.ts";
import { closedHere } from "./transport/endpoint.ts";

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
  readonly #prepare: (signal: AbortSignal) => Promise<void>;
  readonly #preparing = new SharedCall<void>();
  #isPrepared = false;
  #closed = false;

  /** `prepare`: what has to be done before the first call. */
  constructor(context: () => ErrorContext, ports: RetryPorts, prepare: (signal: AbortSignal) => Promise<void>) {
    this.#context = context;
    this.#ports = ports;
    this.#prepare = prepare;
  }

  /** From now on every call throws `cancelled`. */
  close(): void {
    this.#closed = true;
  }

  /** Resolves once calls can be made. Throws `cancelled` once the connection has been closed here. */
  async prepared(signal: AbortSignal): Promise<void> {
    if (!this.#isPrepared)
      await this.#preparing.join(this.#prepare, signal).catch((error: unknown) => {
        throw this.translate(error, signal);
      });
    if (this.#closed) throw closedHere();
    this.#isPrepared = true;
  }

  /** No promise of its own where everything is prepared: every poll comes through here. */
  #begin<T>(rpc: (options: CallOptions) => Promise<T>, timeoutMs: number, signal: AbortSignal): Promise<T> {
    if (this.#closed) return Promise.reject(closedHere());
    const call = { signal, timeoutMs };
    return this.#isPrepared ? rpc(call) : this.prepared(signal).then(() => rpc(call));
  }

  /** One attempt, never repeated. */
  once<T>(rpc: (options: CallOptions) => Promise<T>, timeoutMs: number, signal: AbortSignal): Promise<T> {
    return this.#begin(rpc, timeoutMs, signal).catch((error: unknown) => {
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
    // one promise where the first attempt succeeds
    return this.#begin(rpc, timeoutMs, signal).catch(async (cause: unknown) => {
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

  translate(error: unknown, signal: AbortSignal): MillraceError {
    if (this.#closed && !signal.aborted) return isMillraceError(error) ? error : closedHere(error);
    return translateError(error, this.#context(), signal);
  }
}

function connectionMayReturn(error: unknown): boolean {
  const reason = upstreamReason(error);
  return reason === "connection_lost" || reason === "unavailable" || reason === "upstream_dropped";
}
