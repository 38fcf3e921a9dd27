import type { Clock } from "../../base/clock.ts";
import type { PollPacer } from "./poll-pacer.ts";
import type { PollPace } from "./poll-schedule.ts";

/** Whether the IDE's agent may look things up in a turn, or the turn stops at each of its tools. */
export type IdeTools = "read" | "stop";

/** Settings of the Cascade backend, beside the server. Times in ms. */
export interface CascadeSettings {
  readonly clock: Clock;
  readonly pace: PollPace;
  /** One for the process. */
  readonly pacer: PollPacer;
  /** Without any sign of life for this long a turn fails with `upstream_timeout`. */
  readonly silenceMs: number;
  /** How long a trajectory must show no trace of a prompt before it is believed that the server never took it. */
  readonly acceptGraceMs: number;
  readonly ideTools: IdeTools;
}
