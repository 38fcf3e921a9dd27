import type { Clock } from "../base/clock.ts";
import { systemClock } from "../base/clock.ts";
import type { TurnId } from "../base/ids.ts";
import type { TurnRequest } from "./request.ts";
import type { NewTurn } from "./store.ts";

/** A clock whose wall time a test sets, while sleeping takes real time: for stores that look at a medium now and then. */
export class SettableClock implements Clock {
  #nowMs: number;

  constructor(nowMs = 10) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal);
  }

  move(ms: number): void {
    this.#nowMs += ms;
  }
}

export const plainRequest: TurnRequest = {
  model: "some-model",
  messages: [{ role: "user", parts: [{ type: "text", text: "Hello" }] }],
  tools: [],
  toolChoice: { type: "auto" },
  parallelToolCalls: true,
  responseFormat: { type: "text" },
  stop: [],
};

let made = 0;

/** A turn with a new id; everything else as given, or a plain default. */
export function newTurn(overrides: Partial<NewTurn> = {}): NewTurn {
  made += 1;
  return {
    turnId: `turn_${String(made).padStart(26, "0")}` as TurnId, // unique in a test file, which is all that it must be
    createdAtMs: made,
    dialect: "openai-chat",
    request: plainRequest,
    modelUid: "some-model",
    modelNumber: undefined,
    caller: "caller-1",
    fingerprint: `body-${made}`,
    idempotencyKey: undefined,
    session: undefined,
    client: undefined,
    graceMs: 120_000,
    ...overrides,
  };
}
