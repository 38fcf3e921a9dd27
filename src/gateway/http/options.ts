import type { Clock } from "../../base/clock.ts";
import type { Secret } from "../../base/secret.ts";
import type { Models } from "../../models/model.ts";
import type { Turns } from "../../turns/turns.ts";
import type { Meter } from "../../usage/meter.ts";
import type { DashboardFiles } from "../dashboard/dashboard-files.ts";
import type { SessionStore } from "../dashboard/dashboard-sessions.ts";
import type { IssuedKey } from "../dashboard/inventory.ts";
import type { GatewayEvents } from "../dashboard/turn-feed.ts";
import { bounds } from "../dialects/bounds.ts";
import type { GatewayMetrics } from "../metrics/metrics.ts";
import type { AgentStats } from "../metrics/read-gauges.ts";
import type { GuardPolicy } from "./guard.ts";
import type { GatewayLog } from "./log.ts";
import type { OpenRpc } from "./rpc-handler.ts";
import type { Timing } from "./timing.ts";

/** The part of the meter that routes ask. */
export type GatewayMeter = Pick<Meter, "limits" | "ask" | "elsewhere" | "lastUses">;

/** The event log's medium. */
export interface StoreState {
  /** Answers flow, but live in memory only: they cannot be resumed after a restart. */
  readonly degraded: boolean;
  /** The problem and the user's next step, while the problem lasts. */
  readonly why: string | null;
  readonly hint: string | null;
  /** The store was found damaged when it was opened, and the log is new: where the old files are kept. */
  readonly damaged?: { readonly copy: string } | null;
}

export interface ConsentBook {
  /** The IDEs here whose plan prompts would use. */
  list(signal: AbortSignal): Promise<
    readonly {
      readonly ide: string;
      readonly product: string;
      /** The text that the user agrees to. */
      readonly text: string;
      readonly acceptedAt: string | null;
    }[]
  >;
  /** Remembers that the user agrees for this IDE. Answers false where `list` does not have it. */
  give(ide: string, signal: AbortSignal): Promise<boolean>;
}

export interface GatewayOptions {
  readonly turns: Turns;
  readonly models: Models;
  readonly clock: Clock;
  readonly log: GatewayLog;
  /** At least one, each of at least 16 characters: a gateway without a key does not open. */
  readonly keys: GuardPolicy["keys"];
  /** The owner's key now, in place of the first of `keys`; asked at each request. */
  readonly ownerKey?: () => Secret;
  /** Finds a key that is not in `keys`, as `GuardPolicy` has it. */
  readonly issued?: GuardPolicy["issued"];
  /** Makes a key of `millrace run` work for its client until the signal aborts. */
  readonly lendKey?: (lent: { readonly client: string; readonly key: Secret }, until: AbortSignal) => void;
  /** Opens and closes doors as the list of keys has them now; answers why others cannot be opened. */
  readonly adjustDoors?: () => Promise<readonly string[]>;
  /** The keys that the owner made for others; none where this gateway has no file of them. */
  readonly issuedKeys?: () => readonly IssuedKey[];
  /** The name of a caller's key, for the dashboard; undefined if unknown. */
  readonly keyNameOf?: (caller: string) => string | undefined;
  /** Millrace's own version, for `/health` and the `server` header. */
  readonly version: string;
  /** Random, made at each start: a part of the proof that tells this gateway from another program on its port. */
  readonly instance: string;
  /** The plans' limits and use, for `/v1/limits` and `/v1/usage`, and the count of readers who came back. Without a meter these routes report its absence. */
  readonly meter?: GatewayMeter;
  /** The gateway's metrics, if other parts count into them as well. */
  readonly metrics?: GatewayMetrics;
  /** The agent programs that were started, for `/metrics`. */
  readonly agents?: () => Promise<readonly AgentStats[]>;
  /** Bytes that the event log takes on disk; undefined where it has no file. */
  readonly logBytes?: () => number | undefined;
  /** Whether the log can be written, for `/health`, `/metrics` and the dashboard. */
  readonly storeState?: () => StoreState;
  /** The pause, for `/health`; null while there is none. */
  readonly pauseState?: () => { readonly since: string | null } | null;
  /** The limit in force, for `/health`. */
  readonly turnLimit?: () => {
    readonly most: number | undefined;
    readonly why: string;
  };
  /** The user's consents, for the dashboard; without it, nothing there needs one. */
  readonly consents?: ConsentBook;
  /** The product that a prompt to this model goes to now, for `x-millrace-ide`; undefined where none is known. */
  readonly ideOf?: (modelUid: string | undefined) => string | undefined;
  /** The IDEs found with doctor's verdicts, for the dashboard: plain JSON without secrets. */
  readonly ides?: () => Promise<unknown>;
  /** Another text once the answer of `ides` may be another one. Cheap: open pages ask several times a second. */
  readonly idesMark?: () => string;
  /** Where the dashboard's sessions outlive the gateway; they end with it otherwise. */
  readonly sessionStore?: SessionStore;
  /** Whether the dashboard shows prompts and answers in a browser whose owner did not choose; false by default. */
  readonly showsTexts?: boolean;
  /** How long an ended turn's texts are kept, ms; two hours by default. */
  readonly keptMs?: number;
  /** The window of a model by its UID, as prompts are laid out for it; undefined while it is unknown. */
  readonly contextTokens?: (modelUid: string) => number | undefined;
  /** The details of `/health` for a caller with the key: plain JSON without secrets. */
  readonly healthDetails?: () => Promise<unknown>;
  /** Host names that requests may carry beside the loopback ones; no ports. */
  readonly allowedHosts?: readonly string[];
  /** Exact origins (`https://app.example`) whose pages may call; none by default. */
  readonly allowedOrigins?: readonly string[];
  readonly maxBodyBytes?: number;
  /** Number of requests that run at the same time. Beyond it, a request with a body gets a refusal that asks for a retry. */
  readonly mostOpen?: number;
  readonly timing?: Partial<Timing>;
  /** Takes `/aiserver.v1.*` paths and, on the same port, HTTP/2. */
  readonly rpc?: OpenRpc;
  /** Events of the turns and the meter, for the dashboard; without them, open pages learn of changes late. */
  readonly events?: GatewayEvents;
  /** The built dashboard, served at `/`; a short page stands there without it. */
  readonly dashboard?: DashboardFiles | undefined;
}

/** The limits of a gateway whose options name no others. */
export const defaultLimits = {
  maxBodyBytes: bounds.body.bytes,
  /** Above the 400 answers at once that `bench load` measures. */
  mostOpen: 512,
};
