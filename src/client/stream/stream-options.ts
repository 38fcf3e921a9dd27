import { type Clock, systemClock } from "../../base/clock.ts";
import { type BackoffPolicy, defaultBackoff, defaultPatience, type Patience } from "../link/backoff.ts";
import { type GatewayLink, openedBy } from "../link/gateway-link.ts";
import { openMemoryRecordStore } from "../records/memory-record-store.ts";
import type { RecordStore } from "../records/record-store.ts";
import type { TierName } from "../tiers/tier.ts";
import type { TierChoice } from "../tiers/tier-choice.ts";

/** A change of a stream's connection. */
export type ConnectionChange =
  /**
   * `degraded`: the stream cannot be resumed. With a `why`, its record cannot be kept: it is read on, but does not survive this program. Without, the
   * gateway cannot keep it: losing the connection will end it. `expiresAtMs`: by the gateway's clock.
   * `turnId`: the turn that ran or runs last, as `GET /v1/turns` lists it; undefined before the first.
   */
  | {
      readonly state: "attached";
      readonly tier: TierName;
      readonly degraded: boolean;
      readonly expiresAtMs: number | undefined;
      readonly turnId: string | undefined;
      readonly why: string | undefined;
    }
  /** `fruitless`: attaches in a row that brought nothing. `why`: the gateway's words, where it asked to wait. */
  | {
      readonly state: "reconnecting";
      readonly tier: TierName;
      readonly waitMs: number;
      readonly fruitless: number;
      readonly why: string | undefined;
    };

/** How streams reach their gateway, where their records are, and how they behave. */
export interface StreamOptions {
  /** From `webLink` or `nodeLink`; one for all streams to a gateway. */
  readonly gateway: GatewayLink;
  /** The store of the records; by default memory, which survives lost connections but no restart. */
  readonly store?: RecordStore;
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
export interface StreamSettings
  extends Required<Pick<StreamOptions, "store" | "label" | "onConnection" | "clock" | "random">> {
  readonly gateway: TierChoice;
  readonly grace: string | undefined;
  readonly backoff: BackoffPolicy;
  readonly patience: Patience;
  /** Off: it ends after the events that the gateway has at the first attach. */
  readonly follows: boolean;
}

/** For a caller without a signal. */
export const neverAborted: AbortSignal = new AbortController().signal;

/** Options with everything that they leave open. */
export function settingsOf(options: StreamOptions): StreamSettings {
  return {
    gateway: openedBy(options.gateway),
    store: options.store ?? openMemoryRecordStore(),
    label: options.label ?? "",
    grace: options.grace,
    backoff: { ...defaultBackoff, ...options.backoff },
    patience: { ...defaultPatience, ...options.patience },
    onConnection: options.onConnection ?? (() => undefined),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    follows: true,
  };
}
