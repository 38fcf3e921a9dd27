import { type Clock, systemClock } from "../../base/clock.ts";
import { type BackoffPolicy, defaultBackoff } from "../link/backoff.ts";
import { type GatewayLink, type LinkParts, openedBy } from "../link/gateway-link.ts";
import { openMemoryRecordStore } from "../records/memory-record-store.ts";
import type { RecordStore } from "../records/record-store.ts";
import { defaultPatience, type Patience } from "../tiers/attach.ts";
import type { ConnectionChange } from "./reliable-stream.ts";

/** How streams reach their gateway, where their records are, and how they behave. */
export interface StreamOptions {
  /** From `webLink` or `nodeLink`; one for all streams to a gateway. */
  readonly gateway: GatewayLink;
  /** The store of the records; by default memory, which survives lost connections but no restart. */
  readonly store?: RecordStore;
  /** Turns off parts of storing and resuming; all are on by default. */
  readonly gates?: {
    /** Off: records are kept in memory only, and `store` is ignored. */
    readonly persist?: boolean;
    /** Off: `autoResume` finds nothing and touches nothing. */
    readonly autoResume?: boolean;
  };
  /** The application's own note in the record, such as which conversation the stream belongs to. */
  readonly label?: string;
  /** How long the answer continues without an attached client, in the gateway's form (`90`, `500ms`, `2m`). */
  readonly grace?: string;
  /** Members that are left out keep their defaults. */
  readonly backoff?: Partial<BackoffPolicy>;
  /** As above. */
  readonly patience?: Partial<Patience>;
  /** Called whenever the connection comes and goes, and with whether it can be resumed. */
  readonly onConnection?: (change: ConnectionChange) => void;
  readonly clock?: Clock;
  /** 0 (inclusive) to 1 (exclusive). */
  readonly random?: () => number;
}

/** The same, complete. */
export interface StreamSettings {
  readonly gateway: LinkParts;
  readonly store: RecordStore;
  readonly autoResume: boolean;
  readonly label: string;
  readonly grace: string | undefined;
  readonly backoff: BackoffPolicy;
  readonly patience: Patience;
  readonly onConnection: (change: ConnectionChange) => void;
  readonly clock: Clock;
  readonly random: () => number;
  /** How far a record may lag behind the applied events, ms: events of that time may be repeated after a crash. */
  readonly noteEveryMs: number;
  /** A stream that was left longer ago than this is not continued; ms. */
  readonly lookbackMs: number | undefined;
}

/** For a caller without a signal. */
export const neverAborted: AbortSignal = new AbortController().signal;

/** Options with everything that they leave open. */
export function settingsOf(options: StreamOptions): StreamSettings {
  const { gates = {}, clock = systemClock } = options;
  return {
    gateway: openedBy(options.gateway),
    store: gates.persist === false || options.store === undefined ? openMemoryRecordStore() : options.store,
    autoResume: gates.autoResume !== false,
    label: options.label ?? "",
    grace: options.grace,
    backoff: { ...defaultBackoff, ...options.backoff },
    patience: { ...defaultPatience, ...options.patience },
    onConnection: options.onConnection ?? (() => undefined),
    clock,
    random: options.random ?? Math.random,
    noteEveryMs: 500,
    lookbackMs: undefined,
  };
}
