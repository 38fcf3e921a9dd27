import type { Doors } from "../../../base/node/door.ts";
import type { ChildLaunch, HostNote } from "../wire/agent-child.ts";

/**
 * The version of this page's messages and of a gateway's note. `hello`, `look` and `end`, and `version`, `hostPid` and `running` in their
 * answers, are the same in every version: so a gateway can wait for the prompts of a host of another version, and end it.
 */
export const wireVersion = 4;

/** What a host is started with, as JSON on its standard input. */
export interface HostOptions {
  readonly launch: ChildLaunch;
  /** The agent's name, for people. */
  readonly agent: string;
  /** The file of the door to listen at. */
  readonly door: string;
  readonly doors: Doors;
  /** Ends the host where no gateway came for so long and no prompt runs; ms. */
  readonly aloneMs: number;
}

/** The word that a host writes to its standard output once a gateway can connect. */
export const readyWord = "ready\n";

/** From a gateway or a command, one JSON object a line. The first one of a connection is not `tell`. */
export type Order =
  /** A gateway wants the agent. Answered by `Welcome`, or by `Refusal`. */
  | { readonly type: "hello"; readonly role: GatewayRole }
  /** Answered by `HostLook`. */
  | { readonly type: "look" }
  /** Answered by `caughtUp`, after all lines that the agent wrote before. */
  | { readonly type: "catch_up" }
  /** Ends the agent, and the host after it. */
  | { readonly type: "end"; readonly graceMs: number }
  /** `write` goes to the agent, and `note` replaces the one before; both or none happen. `read`: lines that this gateway has read. */
  | { readonly type: "tell"; readonly read: number; readonly write?: string; readonly note?: ToldNote };

/** A note on the wire. `parts` has those that differ from the note before, `null` for one that is gone. */
export type ToldNote = Omit<HostNote, "parts"> & { readonly parts: Readonly<Record<string, string | null>> };

/** `starter`: it started the host, and nobody has the agent before it. */
export type GatewayRole = "starter" | "successor";

/** The answer to a gateway's `hello`. The agent's lines follow from `first` on, each after a `<`; news of the agent are JSON. */
export interface Welcome {
  readonly version: number;
  readonly hostPid: number;
  readonly pid: number;
  /** The number of gateways before this one. */
  readonly earlier: number;
  readonly first: number;
  /** How many lines an earlier gateway has read: it answered the agent's requests in them. */
  readonly read: number;
  readonly state: string | null;
  /** As `HostNote` has them. */
  readonly parts: Readonly<Record<string, string>>;
  /** Why lines before `first` were given up that a note wanted kept. */
  readonly lost?: LinesLost;
  /** The end of the agent's standard error. */
  readonly errors: string;
}

/** `disk_full`: they could not be written, and were too many for memory. `too_many`: there was no room for them. */
export type LinesLost = "disk_full" | "too_many";

/** Another gateway is connected, or is about to be. */
export interface Refusal {
  readonly refused: "busy";
}

/** `half`: the agent has written a part of a line. `ended`: how its process ended. */
export type News =
  | { readonly caughtUp: true }
  | { readonly half: true }
  | { readonly errors: string }
  | { readonly ended: string };

export interface HostLook {
  readonly version: number;
  readonly hostPid: number;
  readonly pid: number;
  readonly agent: string;
  readonly sinceMs: number;
  /** A gateway is connected. */
  readonly served: boolean;
  /** Prompts that the agent works on. */
  readonly running: number;
  /** Answers that ended and that no gateway has read yet. */
  readonly unread: number;
}
