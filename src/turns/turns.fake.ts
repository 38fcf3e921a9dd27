import { afterEach } from "vitest";
import type { Prompt } from "../backends/backend.ts";
import { FakeClock } from "../base/clock.fake.ts";
import { type EventId, type ModelUid, startOfLog, type TurnId } from "../base/ids.ts";
import { until } from "../base/wait.fake.ts";
import type { TurnEvent } from "../log/event.ts";
import { inMemory, openMemoryLog } from "../log/memory-log.fake.ts";
import type { TurnRequest } from "../log/request.ts";
import type { LogStore } from "../log/store.ts";
import { plainRequest } from "../log/turn.fake.ts";
import { FakeBackend } from "./backend.fake.ts";
import type { StreamTurns, Turns } from "./open-turns.ts";
import { openTurns } from "./open-turns.ts";
import type { PlannedModel, TurnsOptions } from "./options.ts";
import { eachDelivered } from "./read.ts";
import type { AskedTurn } from "./turns.ts";

/** The last message as the whole prompt. */
export function plainLayout(request: TurnRequest, model: PlannedModel): Prompt {
  const text =
    request.messages
      .at(-1)
      ?.parts.map((part) => (part.type === "text" ? part.text : ""))
      .join("") ?? "";
  return {
    modelUid: model.uid,
    modelNumber: model.number,
    instructions: "",
    text,
    messages: [{ role: "user", text }],
    images: [],
    maxOutputTokens: request.maxOutputTokens,
    continues: undefined,
    form: "text",
  };
}

/** A request as a dialect would hand it over. */
export function asking(overrides: Partial<AskedTurn> = {}): AskedTurn {
  return {
    dialect: "openai-chat",
    request: plainRequest,
    modelUid: "some-model" as ModelUid, // any text will do here
    modelNumber: undefined,
    caller: "caller-1",
    fingerprint: "body-1",
    idempotencyKey: undefined,
    session: undefined,
    client: undefined,
    graceMs: undefined,
    ...overrides,
  };
}

/** As `asking`, with another question behind the messages of `asking`. */
export function goingOn(overrides: Partial<AskedTurn> = {}): AskedTurn {
  const { messages } = plainRequest;
  const next = { role: "user", parts: [{ type: "text", text: "And?" }] } as const;
  return asking({ request: { ...plainRequest, messages: [...messages, next] }, ...overrides });
}

export interface FakeTurns {
  readonly turns: StreamTurns;
  readonly clock: FakeClock;
  readonly store: LogStore;
  readonly backend: FakeBackend;
}

/** The real turns over a memory log, a clock that a test moves and a backend that it writes. */
export function fakeTurns(overrides: Partial<TurnsOptions> = {}): FakeTurns {
  const clock = new FakeClock();
  const backend = new FakeBackend();
  const store = overrides.store ?? openMemoryLog({ clock });
  const turns = openTurns({
    store,
    backends: backend,
    clock,
    graceMs: 120_000,
    implicitJoins: true,
    owner: "owner-1",
    layout: plainLayout,
    countTokens: (text) => Math.ceil(text.length / 4),
    ...overrides,
  });
  return { turns, clock, store, backend };
}

/** A reader that takes all there is, until the end or `leave`. */
export class FakeReader {
  readonly events: TurnEvent[] = [];
  readonly done: Promise<void>;
  readonly #signal = new AbortController();

  constructor(turns: Turns, turnId: TurnId, after: EventId = startOfLog) {
    this.done = (async () => {
      try {
        for await (const event of eachDelivered(() => turns.open(turnId, after, this.#signal.signal)))
          this.events.push(event);
      } catch (error) {
        if (!this.#signal.signal.aborted) throw error;
      }
    })();
    this.done.catch(() => undefined); // a test that expects a failure awaits `done` itself
  }

  get text(): string {
    return this.events.reduce(
      (text, event) => (event.type === "text" ? text + event.delta : event.type === "rewritten" ? event.text : text),
      "",
    );
  }

  get types(): readonly string[] {
    return this.events.map(({ type }) => type);
  }

  /** Waits for the first event of this type. */
  async seen(type: TurnEvent["type"]): Promise<void> {
    await until(() => this.types.includes(type));
  }

  async leave(): Promise<void> {
    this.#signal.abort();
    await this.done;
  }
}

/** `fakeTurns`, stopped after each test of the file that calls this. */
export function stoppedTurns(): typeof fakeTurns {
  const open: Turns[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((turns) => turns.stop()));
  });
  return (overrides) => {
    const made = fakeTurns(overrides);
    open.push(made.turns);
    return made;
  };
}

/** A memory log that claims to outlive the process: enough for tests of a restart, or of two processes, without a disk. */
export function durable(store: LogStore): LogStore {
  return { ...bound(store), capabilities: { ...inMemory, survivesRestart: true, isShared: true } };
}

/** A copy of the store of which a test may replace methods. */
export function bound(store: LogStore): LogStore {
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(store)).filter((name) => name !== "constructor");
  const copy = Object.fromEntries(methods.map((name) => [name, Reflect.get(store, name).bind(store)]));
  return { ...copy, capabilities: store.capabilities } as LogStore; // every method of it, bound
}

/** A turn that an ended process left in the store. */
export function record(clock: FakeClock) {
  return {
    ...asking(),
    turnId: "turn_left" as TurnId,
    createdAtMs: clock.now(),
    graceMs: 120_000,
  };
}
