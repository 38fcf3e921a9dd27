import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import { CascadeRunStatus, CortexStepStatus, CortexStepType } from "../../proto/windsurf/exa/cortex_pb.ts";
import { FakeTrajectory } from "../trajectory.fake.ts";
import { fresh } from "./follow.fake.ts";
import type { FollowerState, FollowStep } from "./follower.ts";
import { followSteps, startSteps } from "./steps-follower.ts";
import { followTranscript, startTranscript } from "./transcript-follower.ts";
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

  add(number: number, role: Message["role"], body = ""): Message {
    const message = { number, role, body };
    this.messages.push(message);
    return message;
  }

  /** The same as typed steps, in the order of the numbers. */
  steps(offset: number) {
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
class Poller<State extends FollowerState = FollowerState> {
  readonly events: TurnEventBody[] = [];
  polls = 0;
  #state: State;
  #atMs = 0;
  readonly #read: (state: State, atMs: number) => FollowStep<State>;
  readonly #follow: (state: State, run: RunSnapshot) => FollowStep<State>;
  readonly #status: () => CascadeRunStatus | undefined;

  constructor(
    start: State,
    read: (state: State, atMs: number) => FollowStep<State>,
    follow: (state: State, run: RunSnapshot) => FollowStep<State>,
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

  /** The text that a client has that cannot take anything back. */
  get streamed(): string {
    return this.events.map((event) => (event.type === "text" ? event.delta : "")).join("");
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

  #take({ events, state }: FollowStep<State>): void {
    this.events.push(...events);
    this.#state = state;
  }
}

function byTranscript(server: LooseServer) {
  const read = (state: ReturnType<typeof startTranscript>, atMs: number) => {
    const { offset } = state;
    const transcript = server.transcript(offset);
    const totalSteps = server.messages.length;
    return followTranscript(state, { kind: "transcript", atMs, offset, transcript, totalSteps });
  };
  return new Poller(startTranscript(fresh), read, followTranscript, () => server.status);
}

function bySteps(server: LooseServer) {
  const read = (state: ReturnType<typeof startSteps>, atMs: number) =>
    followSteps(state, { kind: "steps", atMs, offset: state.offset, steps: server.steps(state.offset) });
  return new Poller(startSteps(fresh), read, followSteps, () => server.status);
}

const ways = [
  ["typed steps", bySteps],
  ["the transcript", byTranscript],
] as const;

function typeIn(marker: string): string {
  return Object.keys(CortexStepType).find((name) => marker === `[CORTEX_STEP_TYPE_${name}]`) ?? "";
}

function words(from: number, count: number): string {
  return Array.from({ length: count }, (_, i) => `w${from + i}. `).join("");
}

function wordsOf(text: string): readonly string[] {
  return (text.match(/w\d+\./g) ?? []).toSorted();
}

function expectOnce(poller: Pick<Poller, "streamed" | "events">, all: string): void {
  expect(wordsOf(poller.streamed)).toEqual(wordsOf(all));
  const ends = poller.events.flatMap((event) => (event.type === "finished" ? [wordsOf(event.text)] : []));
  expect(ends).toEqual([wordsOf(all)]);
  expect(JSON.stringify(poller.events)).not.toMatch(/=== MESSAGE|CORTEX_STEP/);
}

describe("a turn with two answers, of which the earlier one comes late", () => {
  test.each([
    ["the transcript in the order of arrival", "arrival", byTranscript],
    ["the transcript in the order of numbers", "numbers", byTranscript],
    ["typed steps", "numbers", bySteps],
  ] as const)("streams both, each word once, by %s", (_, order, follow) => {
    const server = new LooseServer();
    server.order = order;
    server.status = follow === bySteps ? CascadeRunStatus.RUNNING : undefined;
    server.add(1, "Tool", "[CORTEX_STEP_TYPE_GREP_SEARCH]");
    const poller = follow(server);
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
    server.add(6, "Tool", "[CORTEX_STEP_TYPE_CHECKPOINT]");
    if (server.status !== undefined) server.status = CascadeRunStatus.IDLE;
    poller.pollToEnd();
    expectOnce(poller, later.body + earlier.body);
    expect(poller.events.at(-1)).toMatchObject({ text: `${earlier.body}${later.body}` });
    expect(poller.events.filter(({ type }) => type === "rewritten")).toMatchObject([{ moved: true }]);
  });

  test.each(ways)("streams one to its end before the other when both grow at the same time, by %s", (_, follow) => {
    const server = new LooseServer();
    server.status = follow === bySteps ? CascadeRunStatus.RUNNING : undefined;
    const poller = follow(server);
    const first = server.add(1, "Assistant");
    const second = server.add(2, "Assistant");
    for (let i = 0; i < 30; i++) {
      first.body += words(100 + i, 1);
      second.body += words(200 + i, 1);
      poller.poll();
    }
    server.add(3, "Tool", "[CORTEX_STEP_TYPE_CHECKPOINT]");
    if (server.status !== undefined) server.status = CascadeRunStatus.IDLE;
    poller.pollToEnd();
    expectOnce(poller, first.body + second.body);
    expect(poller.streamed).toBe(first.body + second.body);
  });
});

describe("a build that does not tell its status", () => {
  test("may go on after a checkpoint in the middle of the answer", () => {
    const server = new LooseServer();
    const poller = byTranscript(server);
    const first = server.add(1, "Assistant", words(0, 20));
    poller.poll();
    server.add(2, "Tool", "[CORTEX_STEP_TYPE_CHECKPOINT]");
    poller.poll(55);
    const second = server.add(3, "Assistant");
    for (let i = 0; i < 20; i++) {
      second.body += words(20 + i, 1);
      poller.poll(55);
    }
    server.add(4, "Tool", "[CORTEX_STEP_TYPE_CHECKPOINT]");
    poller.pollToEnd();
    expectOnce(poller, first.body + second.body);
  });

  test("and writes no checkpoint ends the turn after a minute without news", () => {
    const server = new LooseServer();
    const poller = byTranscript(server);
    const answer = server.add(1, "Assistant", words(0, 20));
    poller.poll();
    for (let i = 0; i < 200; i++) poller.poll(250);
    expect(poller.ended).toBe(false);
    poller.pollToEnd();
    expectOnce(poller, answer.body);
  });

  test("and gives the transcript twice over is read once", () => {
    const server = new LooseServer();
    server.copies = 2;
    const poller = byTranscript(server);
    const answer = server.add(1, "Assistant");
    for (let i = 0; i < 30; i++) {
      answer.body += words(i, 1);
      poller.poll();
    }
    server.add(2, "Tool", "[CORTEX_STEP_TYPE_CHECKPOINT]");
    poller.pollToEnd();
    expectOnce(poller, answer.body);
    expect(poller.polls).toBeLessThan(60);
  });

  test("loses nothing by one empty poll at any time", () => {
    for (const emptyAt of [0, 1, 2, 3, 4, 5]) {
      const server = new LooseServer();
      server.status = CascadeRunStatus.IDLE;
      const poller = byTranscript(server);
      const answer = server.add(1, "Assistant", words(0, 3));
      poller.poll();
      poller.poll();
      answer.body += words(3, 3);
      server.add(2, "Tool", "[CORTEX_STEP_TYPE_CHECKPOINT]");
      const whole = server.transcript.bind(server);
      let polls = 0;
      server.transcript = (offset) => (polls++ === emptyAt ? "" : whole(offset));
      poller.pollToEnd();
      expectOnce(poller, answer.body);
    }
  });
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
        if (pollers.some(({ ended }) => ended)) return; // a pause of a minute ended it
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
