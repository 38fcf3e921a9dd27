import { MillraceError } from "../../base/errors.ts";
import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import { emptyAnswer } from "../answer-diff.ts";
import type { FakeTrajectory } from "../trajectory.fake.ts";
import type { FollowerState, FollowStep, StartPoint } from "./follower.ts";
import { wantsRun } from "./turn-progress.ts";
import type { RunSnapshot } from "./turn-view.ts";

export const fresh: StartPoint = {
  fromStep: 0,
  fresh: true,
  sent: emptyAnswer,
  prompt: "hi",
  errorOf: (details) =>
    new MillraceError("rate_limited", typeof details === "string" ? details : details.userErrorMessage),
  ideTools: "read",
};

/** Drives a follower by hand over a trajectory, at a time that the test moves. */
export class HandFollower<Snapshot> {
  state: FollowerState;
  atMs = 0;
  readonly events: TurnEventBody[] = [];
  readonly offsets: number[] = [];
  readonly #trajectory: FakeTrajectory;
  readonly #follow: (state: FollowerState, snapshot: Snapshot | RunSnapshot) => FollowStep;
  readonly #read: (trajectory: FakeTrajectory, offset: number, atMs: number) => Snapshot;

  constructor(
    trajectory: FakeTrajectory,
    state: FollowerState,
    follow: (state: FollowerState, snapshot: Snapshot | RunSnapshot) => FollowStep,
    read: (trajectory: FakeTrajectory, offset: number, atMs: number) => Snapshot,
  ) {
    this.#trajectory = trajectory;
    this.state = state;
    this.#follow = follow;
    this.#read = read;
  }

  get ended(): boolean {
    return this.events.some(isTerminal);
  }

  /** One poll, `afterMs` after the last, and the polls that follow it at once. */
  poll(afterMs = 50): void {
    this.atMs += afterMs;
    for (let i = 0; i < 5; i++) {
      this.offsets.push(this.state.offset);
      this.#take(this.#read(this.#trajectory, this.state.offset, this.atMs));
      if (!this.state.mustReread && wantsRun(this.state.progress, this.atMs)) {
        const { status, executors } = this.#trajectory;
        this.#take({ kind: "run", atMs: this.atMs, status, executors, restarted: false });
      }
      if (!this.state.mustReread && this.state.progress.phase !== "closing") return;
    }
  }

  /** Polls until the turn ends or there is no hope. */
  pollToEnd(): void {
    for (let i = 0; i < 100 && !this.ended; i++) this.poll(250);
  }

  #take(snapshot: Snapshot | RunSnapshot): void {
    const { events, state } = this.#follow(this.state, snapshot);
    this.events.push(...events);
    this.state = state;
  }
}
