import type { Clock } from "../../src/base/clock.ts";
import type { Model } from "../model/model.ts";
import type { Gate } from "../trajectory/gate.ts";
import type { StoredNode } from "./session-store.ts";

/** The effects of a turn on its session, its client and its process. */
export interface TurnHands {
  readonly clock: Clock;
  readonly gate: Gate;
  readonly newId: () => string;
  readonly newModel: () => Model;
  /** Shows an update to the client. */
  readonly update: (update: object) => void;
  /** Sends the client a notification of the vendor's own. */
  readonly notify: (method: string, params: object) => void;
  /** Keeps a piece of the conversation on disk. */
  readonly keep: (node: StoredNode) => void;
  /** Asks the client; rejects with its error. */
  readonly ask: (method: string, params: object) => Promise<unknown>;
  readonly permissionAnswered: (outcome: string) => Promise<void>;
  readonly diagnosticsAnswered: (answered: boolean) => Promise<void>;
  /** The process dies; never resolves. */
  readonly crash: () => Promise<never>;
}
