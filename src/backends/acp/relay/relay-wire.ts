import type { ToolResult, ToolSpec } from "../../backend.ts";

/** How the relay of a session finds a gateway: the file of the door that it dials, and the secret that it says there. */
export interface RelayAddress {
  readonly socket: string;
  readonly secret: string;
}

/* What the relay and the gateway say to each other: one JSON object a line, over a door of `RelayHub`. */

/** A call of the agent. The relay gives the id: it is the same on every connection, and the client sees it. */
export interface RelayedCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** `hello` is the first line of a connection and names every call that waits; `dropped`: the agent no longer waits for that call. */
export type FromRelay =
  | {
      readonly type: "hello";
      readonly secret: string;
      readonly listed: boolean;
      readonly calls: readonly RelayedCall[];
    }
  | { readonly type: "listed" }
  | { readonly type: "call"; readonly call: RelayedCall }
  | { readonly type: "dropped"; readonly callId: string };

/** An answer to a call that does not wait is ignored, so it may be given twice. */
export type ToRelay =
  | { readonly type: "tools"; readonly tools: readonly Omit<ToolSpec, "check">[] }
  | {
      readonly type: "answer";
      readonly callId: string;
      readonly content: ToolResult["content"];
      readonly isError: boolean;
    };
