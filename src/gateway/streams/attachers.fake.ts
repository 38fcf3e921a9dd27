import type { Batch, Prompt, RunOptions } from "../../backends/backend.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { Secret } from "../../base/secret.ts";
import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import { type DoneStep, heldStore } from "../../log/held-store.fake.ts";
import type { Schedule } from "../../log/schedule.fake.ts";
import type { LogStore } from "../../log/store.ts";
import { FakeModels } from "../../models/models.fake.ts";
import { FakeBackend } from "../../turns/backend.fake.ts";
import { fakeTurns } from "../../turns/turns.fake.ts";
import { Bodies } from "../http/body.ts";
import { defaultTiming } from "../http/timing.ts";
import { GatewayMetrics } from "../metrics/metrics.ts";
import { openPdfReader } from "../pdf/pdf-reader.ts";
import { parseAttach } from "./attach-headers.ts";
import { brokenPromises, type Heard } from "./broken-promises.fake.ts";
import { detailsOf, type MessageInit, RawAttach } from "./raw-client.fake.ts";
import { carry, runSession, type StreamParts, StreamPlaces } from "./session.ts";
import { StreamMarks } from "./stream-log.ts";
import { headersOf, newNames } from "./stream-world.fake.ts";

/** The actions of one client on its connection, in this order: it sends messages, and may leave. */
export type Doings = readonly (MessageInit | "leaves")[];

export interface Scenario {
  readonly attachers: readonly Doings[];
  /** The model's answers, in order. */
  readonly answers: readonly (readonly TurnEventBody[])[];
  /** 1: both attaches reach one gateway. 2: each reaches another gateway, on one log. */
  readonly gateways: 1 | 2;
  readonly hold: "before" | "after";
  /** The clients' name for the conversation. */
  readonly session?: string;
}

/** Methods that only read, or only note a reader. Their order changes no outcome, so the schedule does not vary it. */
const passing = [
  "readAfter",
  "readOutlineAfter",
  "get",
  "listRunning",
  "oldestRunningMs",
  "sweep",
  "holdsTurn",
  "noteReader",
  "noteDelivered",
  "keepTogether",
];

/**
 * Lets clients attach to one stream, send and leave, in the order that the schedule picks. Then checks the promises and throws
 * with those that are broken. Returns how many clients got `superseded`.
 */
export async function playAttachers(scenario: Scenario, store: LogStore, schedule: Schedule): Promise<number> {
  const done: DoneStep[] = [];
  const onDone = (one: DoneStep) => done.push(one);
  const held = heldStore({ store, schedule, hold: scenario.hold, passing, onDone });
  const names = newNames();
  const headers = headersOf(names, "0", scenario.session === undefined ? {} : { "x-session-id": scenario.session });
  const caller = `caller-${names.key}`;
  const ask = parseAttach(new Headers(headers), caller);
  const backend = new ScheduledBackend(schedule, scenario.answers);
  const gateways = Array.from({ length: scenario.gateways }, (_, at) =>
    gatewayOver(held, backend, `${names.key}-${at}`),
  );
  const attachers = scenario.attachers.map((doings, at) => {
    const { parts } = gateways[at % gateways.length] as (typeof gateways)[number]; // the place is one of theirs
    return new Attacher(`client ${at + 1}`, doings, schedule, attachOver(parts, caller, headers));
  });
  const playing = attachers.map((attacher) => attacher.play());
  await schedule.run();
  const heard = attachers.map((attacher) => attacher.heard());
  schedule.release();
  await Promise.all(playing);
  for (const { attach } of attachers) await attach?.cut();
  const opening = { clientKey: new Secret(names.encryptionKey) };
  const broken = await brokenPromises({ store, ask, opening, done, heard, prompts: backend.sent.length });
  for (const { turnId } of await store.list({ caller: ask.name.caller, open: true, limit: 64 }))
    await store.requestCancel(turnId, "client");
  for (const { turns } of gateways) await turns.stop();
  if (broken.length > 0) throw new Error(broken.join("\n"));
  return heard.filter(({ refused }) => refused === "superseded").length;
}

/** A model each of whose answers is a step. */
class ScheduledBackend extends FakeBackend {
  readonly #schedule: Schedule;
  readonly #answers: Scenario["answers"];

  constructor(schedule: Schedule, answers: Scenario["answers"]) {
    super();
    this.#schedule = schedule;
    this.#answers = answers;
  }

  override run(prompt: Prompt, options: RunOptions, signal: AbortSignal): AsyncIterable<Batch> {
    const events = super.run(prompt, options, signal);
    const answer = this.last;
    const respond = async () => {
      const bodies = this.#answers[this.sent.length - 1] ?? [];
      await this.#schedule.step("answers", "model", "the model");
      answer.emit(...bodies);
      if (bodies.some(isTerminal)) answer.end();
    };
    answer.onPrompt = () => void respond();
    return events;
  }
}

/** One client of the stream, over one connection. */
class Attacher {
  readonly #name: string;
  readonly #doings: Doings;
  readonly #schedule: Schedule;
  readonly #connect: ConstructorParameters<typeof RawAttach>[0];
  attach: RawAttach | undefined;
  #left = false;
  #refused: string | undefined;

  constructor(name: string, doings: Doings, schedule: Schedule, connect: ConstructorParameters<typeof RawAttach>[0]) {
    this.#name = name;
    this.#doings = doings;
    this.#schedule = schedule;
    this.#connect = connect;
  }

  async play(): Promise<void> {
    await this.#schedule.as(this.#name, async () => {
      const step = (what: string) => this.#schedule.step(what, "client");
      await step("attaches");
      const attach = new RawAttach(this.#connect);
      this.attach = attach;
      void this.#learn(attach);
      for (const doing of this.#doings) {
        await step(doing === "leaves" ? doing : `sends ${doing.request?.case} ${doing.seqno ?? "without a number"}`);
        if (doing !== "leaves") {
          attach.send(doing);
          continue;
        }
        this.#left = true;
        void attach.cut(); // what it waits for are steps too
      }
    });
  }

  async #learn(attach: RawAttach): Promise<void> {
    const error = await attach.ended;
    this.#refused = error === undefined ? undefined : (detailsOf(error).info["reason"] ?? error.message);
  }

  /** The client's knowledge now. */
  heard(): Heard {
    const { attach } = this;
    return {
      name: this.#name,
      sent: this.#doings.filter((doing) => doing !== "leaves"),
      acks: [...(attach?.acks ?? [])],
      left: this.#left,
      refused: this.#refused,
      end: attach?.end,
    };
  }
}

const metrics = new GatewayMetrics("0"); // a registry each would be most of the work

/** The parts of a gateway that attaches need, over a log and a model that a test controls. */
export function gatewayOver(store: LogStore, backend: FakeBackend, owner: string) {
  const clock = new FakeClock();
  const { turns } = fakeTurns({ store, backends: backend, clock, owner });
  const parts: StreamParts = {
    turns,
    streams: turns,
    models: new FakeModels(),
    clock,
    log: { write: () => {} },
    metrics,
    refused: { note: () => {} },
    waits: defaultTiming,
    limits: { maxBodyBytes: 1_000_000 },
    bodies: new Bodies(1_000_000),
    readPdf: openPdfReader(),
    places: new StreamPlaces(256),
    marks: new StreamMarks(),
  };
  return { parts, turns, clock };
}

/** One attach, as the gateway serves it over tier 1, without a socket. */
function attachOver(
  parts: StreamParts,
  caller: string,
  headers: Readonly<Record<string, string>>,
): ConstructorParameters<typeof RawAttach>[0] {
  const stopping = new AbortController().signal;
  return (messages, signal) =>
    carry({ caller, headers: new Headers(headers), messages, waitsForGaps: false, signal }, (carrier) =>
      runSession(parts, carrier, stopping),
    );
}
