/** The outcome of the calls that one turn's model wrote; counts. */
export interface CallCounts {
  /** Written as taught, with arguments that fit. */
  readonly firstTry: number;
  /** Written otherwise, but without loss to be understood. */
  readonly repaired: number;
  /** Right in the second answer. */
  readonly reasked: number;
  /** Not usable in the second answer either. */
  readonly failed: number;
}

/** The calls of one turn. */
export interface TurnCalls extends CallCounts {
  readonly turnId: string;
  readonly atMs: number;
  /** Model UID. */
  readonly model: string;
}

/** The calls of one model in a time. */
export interface ModelCalls extends CallCounts {
  readonly model: string;
  readonly turns: number;
}
