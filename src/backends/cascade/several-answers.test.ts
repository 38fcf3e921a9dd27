import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AnswerFold, textOf } from "../../gateway/dialects/answer.ts";
import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import { CascadeRunStatus, CortexStepStatus, CortexStepType } from "../../proto/windsurf/exa/cortex_pb.ts";
import { FakeTrajectory } from "../trajectory.fake.ts";
import { fresh } from "./follow.fake.ts";
import { type FollowerState, type FollowStep, startFollowing } from "./follower.ts";
import { followSteps } from "./steps-follower.ts";
import { followTranscript } from "./transcript-follower.ts";
import { wantsRun } from "./turn-progress.ts";
import type { RunSnapshot } from "./turn-view.ts";

interface Message {
  readonly number: number;
  readonly role: "User" | "Assistant" | "Tool";
  body: string;
}

/** A build whose messages may appear between others, and have gaps in their numbers; its transcript may have them in any order. */
class LooseServer {
  readonly messages: Message[] = [{ number: 0, role: "User", body: "hi" }];
  /** The order in which the transcript shows them; by number if unset. */
  order: "numbers" | "arrival" = "numbers";
  filter: "number" | "place" = "number";
  status: CascadeRunStatus | undefined = undefined;
  copies = 1;
  /** Which poll from now on is answered by nothing; the first is 1. */
  emptyAt = 0;

  add(number: number, role: Message["role"], body = ""): Message {
    const message = { number, role, body };
    this.messages.push(message);
    return message;
  }

  has(body: string): boolean {
    return this.messages.some((message) => message.body === body);
  }

  /** All answers, in the order of the numbers. */
  get answers(): string {
    const answers = this.messages.filter(({ role }) => role === "Assistant");
    return answers.toSorted((a, b) => a.number - b.number).reduce((text, { body }) => text + body, "");
  }

  get #isEmpty(): boolean {
    return this.emptyAt > 0 && --this.emptyAt === 0;
  }

  /** The same as typed steps, in the order of the numbers. */
  steps(offset: number) {
    if (this.#isEmpty) return [];
    const trajectory = new FakeTrajectory();
    for (const { number, role, body } of this.messages.toSorted((a, b) => a.number - b.number)) {
      if (role === "User") trajectory.accept(body);
      else if (role === "Tool") trajectory.read(typeIn(body));
      else {
        trajectory.plan();
        trajectory.write(body);
        trajectory.planner.response.messageId = `bot-${number}`;
        if (this.status === CascadeRunStatus.IDLE) trajectory.closePlanner(CortexStepStatus.DONE);
      }
    }
    return trajectory.steps.slice(offset);
  }

  transcript(offset: number): string {
    if (this.#isEmpty) return "";
    const ordered = [...this.messages];
    if (this.order === "numbers") ordered.sort((a, b) => a.number - b.number);
    const shown = ordered.filter(({ number }, i) => (this.filter === "number" ? number >= offset : i >= offset));
    return shown
      .map(({ number, role, body }) => `=== MESSAGE ${number} - ${role} ===\n${body}\n\n`)
      .join("")
      .repeat(this.copies);
  }
}

/** Polls a server in one of the two ways, as the driver does. */
class Poller {
  readonly events: TurnEventBody[] = [];
  polls = 0;
  #state: FollowerState;
  #atMs = 0;
  readonly #read: (state: FollowerState, atMs: number) => FollowStep;
  readonly #follow: (state: FollowerState, run: RunSnapshot) => FollowStep;
  readonly #status: () => CascadeRunStatus | undefined;

  constructor(
    start: FollowerState,
    read: (state: FollowerState, atMs: number) => FollowStep,
    follow: (state: FollowerState, run: RunSnapshot) => FollowStep,
    status: () => CascadeRunStatus | undefined,
  ) {
    this.#state = start;
    this.#read = read;
    this.#follow = follow;
    this.#status = status;
  }

  get ended(): boolean {
    return this.events.some(isTerminal);
  }

  /** The text of a client that cannot take anything back, and of one that gets the answer whole; as every API has them. */
  get answer(): { readonly streamed: string; readonly whole: string } {
    const fold = new AnswerFold({ tools: [] });
    const steps = this.events.flatMap((event) => fold.push(event));
    const streamed = steps.map((step) => ("delta" in step ? step.delta : "")).join("");
    return { streamed, whole: textOf(fold.answer.blocks) };
  }

  poll(afterMs = 50): void {
    this.#atMs += afterMs;
    for (let i = 0; i < 4 && !this.ended; i++) {
      this.polls++;
      this.#take(this.#read(this.#state, this.#atMs));
      const run = { kind: "run", atMs: this.#atMs, status: this.#status(), executors: [], restarted: false } as const;
      if (!this.#state.mustReread && wantsRun(this.#state.progress, this.#atMs))
        this.#take(this.#follow(this.#state, run));
      if (!this.#state.mustReread && this.#state.progress.phase !== "closing") return;
    }
  }

  pollToEnd(): void {
    for (let i = 0; i < 400 && !this.ended; i++) this.poll(250);
  }

  #take({ events, state }: FollowStep): void {
    this.events.push(...events);
    this.#state = state;
  }
}

function byTranscript(server: LooseServer) {
  const read = (state: FollowerState, atMs: number) => {
    const { offset } = state;
    const transcript = server.transcript(offset);
    const totalSteps = server.messages.length;
    return followTranscript(state, { kind: "transcript", atMs, offset, transcript, totalSteps });
  };
  return new Poller(startFollowing(fresh), read, followTranscript, () => server.status);
}

function bySteps(server: LooseServer) {
  const read = (state: FollowerState, atMs: number) =>
    followSteps(state, { kind: "steps", atMs, offset: state.offset, steps: server.steps(state.offset) });
  return new Poller(startFollowing(fresh), read, followSteps, () => server.status);
}

function typeIn(marker: string): string {
  return Object.keys(CortexStepType).find((name) => marker === `[CORTEX_STEP_TYPE_${name}]`) ?? "";
}

function words(from: number, count: number): string {
  return Array.from({ length: count }, (_, i) => `w${from + i}. `).join("");
}

function wordsOf(text: string): readonly string[] {
  return (text.match(/w\d+\./g) ?? []).toSorted();
}

/** Every word exactly once, streamed and whole, one end, and no header line anywhere. */
function expectOnce(poller: Pick<Poller, "answer" | "events">, all: string): void {
  const { streamed, whole } = poller.answer;
  expect(wordsOf(streamed)).toEqual(wordsOf(all));
  expect(wordsOf(whole)).toEqual(wordsOf(all));
  expect(poller.events.filter(isTerminal).map(({ type }) => type)).toEqual(["finished"]);
  expect(JSON.stringify(poller.events)).not.toMatch(/=== MESSAGE|CORTEX_STEP/);
}

const { RUNNING, IDLE } = CascadeRunStatus;
const ways = [
  ["typed steps", bySteps, RUNNING],
  ["the transcript", byTranscript, RUNNING],
  ["the transcript of a build that does not tell its status", byTranscript, undefined],
] as const;

const grep = "[CORTEX_STEP_TYPE_GREP_SEARCH]";
const checkpoint = "[CORTEX_STEP_TYPE_CHECKPOINT]";

type PollSource = Pick<Poller, "poll">;

/** One answer to its last word. */
function oneAnswer(server: LooseServer, poller: PollSource): void {
  const answer = server.add(1, "Assistant");
  for (let i = 0; i < 30; i++) {
    answer.body += words(i, 1);
    poller.poll();
  }
}

/** Message 5 grows first; then message 3 appears and grows, while 5 goes on now and then. */
function insertedAnswer(server: LooseServer, poller: PollSource): void {
  server.add(1, "Tool", grep);
  const later = server.add(5, "Assistant");
  for (let i = 0; i < 20; i++) {
    later.body += words(100 + i, 1);
    poller.poll();
  }
  const earlier = server.add(3, "Assistant");
  for (let i = 0; i < 20; i++) {
    earlier.body += words(200 + i, 1);
    if (i % 3 === 0) later.body += words(120 + i, 1);
    poller.poll();
  }
}

interface Trajectory {
  readonly server?: Partial<Pick<LooseServer, "order" | "copies">>;
  readonly grow: (server: LooseServer, poller: PollSource) => void;
  /** How it ends; with a checkpoint if unset. */
  readonly close?: (server: LooseServer) => void;
  /** What was streamed first is not first in the end. */
  readonly moves?: true;
  /** Only the server's status says that it has ended. */
  readonly unmarked?: true;
}

const trajectories: Readonly<Record<string, Trajectory>> = {
  "inserted: message 3 appears after message 5 in the dump": {
    server: { order: "arrival" },
    grow: insertedAnswer,
    moves: true,
  },
  "late: message 3 appears before message 5, in the order of the numbers": { grow: insertedAnswer, moves: true },
  "interleaved: two messages grow at the same time": {
    grow(server, poller) {
      const [first, second] = [server.add(1, "Assistant"), server.add(2, "Assistant")];
      for (let i = 0; i < 30; i++) {
        first.body += words(100 + i, 1);
        second.body += words(200 + i, 1);
        poller.poll();
      }
    },
  },
  "doubled transcript": { server: { copies: 2 }, grow: oneAnswer },
  "no checkpoint": { grow: oneAnswer, close: () => {}, unmarked: true },
  "text after a checkpoint": {
    grow(server, poller) {
      server.add(1, "Assistant", words(0, 20));
      poller.poll();
      server.add(2, "Tool", checkpoint);
      poller.poll(55);
      const second = server.add(3, "Assistant");
      for (let i = 0; i < 20; i++) {
        second.body += words(20 + i, 1);
        poller.poll(55);
      }
    },
  },
  ...Object.fromEntries(
    [1, 2].map((nth): [string, Trajectory] => [
      `empty poll at the close: the ${nth}. of its polls`,
      {
        grow: oneAnswer,
        close(server) {
          server.add(31, "Tool", checkpoint);
          server.emptyAt = nth;
        },
      },
    ]),
  ),
};

describe.each(Object.entries(trajectories))("%s", (_, { server: shape, grow, close, moves, unmarked }) => {
  describe.each(["number", "place"] as const)("where an offset is the %s of a message", (filter) => {
    const ending = ways.filter(([, , status]) => unmarked === undefined || status !== undefined);
    test.each(ending)("every word arrives once by %s, streamed and whole", (_way, follow, status) => {
      const server: LooseServer = Object.assign(new LooseServer(), shape, { filter, status });
      const poller = follow(server);
      grow(server, poller);
      if (close === undefined) server.add(31, "Tool", checkpoint);
      else close(server);
      if (status !== undefined) server.status = IDLE;
      poller.pollToEnd();
      const { streamed, whole } = poller.answer;
      expectOnce(poller, server.answers);
      expect(whole).toBe(server.answers);
      const rewrites = poller.events.filter(({ type }) => type === "rewritten");
      expect(rewrites).toMatchObject(moves ? [{ moved: true }] : []);
      expect(streamed === whole).toBe(moves !== true);
      expect(server.emptyAt).toBe(0);
      expect(poller.polls).toBeLessThan(server.has(checkpoint) ? 100 : 400);
    });
  });
});

test("a build that does not tell its status and writes no checkpoint never ends a turn by its silence", () => {
  const server = new LooseServer();
  const poller = byTranscript(server);
  oneAnswer(server, poller);
  poller.pollToEnd();
  expect(poller.ended).toBe(false);
  expect(poller.answer.streamed).toBe(server.answers);
});

test("every word of any answers that grow, appear between others and come late is streamed once, in both ways with one end", () => {
  const act = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant("grow" as const), which: fc.nat(9), by: fc.integer({ min: 1, max: 4 }) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("answer" as const), number: fc.integer({ min: 2, max: 30 }) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("tool" as const), number: fc.integer({ min: 2, max: 30 }) }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant("poll" as const), afterMs: fc.constantFrom(20, 50, 250) }) },
  );
  fc.assert(
    fc.property(
      fc.array(act, { maxLength: 40 }),
      fc.constantFrom("numbers" as const, "arrival" as const),
      fc.constantFrom("number" as const, "place" as const),
      fc.constantFrom(CascadeRunStatus.RUNNING, undefined),
      (acts, order, filter, status) => {
        const server = new LooseServer();
        server.order = order;
        server.filter = filter;
        server.status = status;
        const pollers = status === undefined ? [byTranscript(server)] : [byTranscript(server), bySteps(server)];
        const answers = [server.add(1, "Assistant", words(0, 1))];
        let next = 1;
        for (const one of acts) {
          if (one.do === "poll") for (const poller of pollers) poller.poll(one.afterMs);
          else if (one.do === "grow") {
            const answer = answers[one.which % answers.length];
            if (answer !== undefined) answer.body += words(next, one.by);
            next += one.by;
          } else if (!server.messages.some(({ number }) => number === one.number)) {
            if (one.do === "answer") answers.push(server.add(one.number, "Assistant", words(next++, 1)));
            else server.add(one.number, "Tool", "[CORTEX_STEP_TYPE_GREP_SEARCH]");
          }
        }
        server.add(31, "Tool", "[CORTEX_STEP_TYPE_CHECKPOINT]");
        if (status !== undefined) server.status = CascadeRunStatus.IDLE;
        for (const poller of pollers) {
          poller.pollToEnd();
          expectOnce(poller, answers.map(({ body }) => body).join(""));
        }
        expect(new Set(pollers.map(({ events }) => JSON.stringify(events.at(-1)))).size).toBe(1);
      },
    ),
    { numRuns: 400 },
  );
});
