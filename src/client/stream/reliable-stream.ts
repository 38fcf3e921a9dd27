import type { TierName } from "../tiers/tier.ts";
import type { ToolResult } from "./messages.ts";
import type { StreamEvent, ToolCallEvent } from "./stream-event.ts";

/** A stream that survives its connections, and with a store that lasts also this process. */
export interface ReliableStream {
  /** Names the stream, and its record in the store. */
  readonly streamKey: string;
  /** Lets another page, process or device `observe` the stream. It opens the answer, so keep it secret. */
  readonly pass: StreamPass;
  /** The application's own note in the record. */
  readonly label: string;
  /** When it was started, by the clock of the machine that did; epoch ms. */
  readonly createdAtMs: number;
  /**
   * All events of the stream, each once in the life of this object, in order, to the end. Iterate once. An event counts as applied
   * when the loop comes back for the next one; a later `resume` does not repeat applied events. Leaving the loop disconnects and
   * cancels nothing: the record stays. Throws `MillraceError`: the gateway's refusal, `expired`, `degraded`, `idempotency_conflict`
   * when another client took the stream over, `upstream_failed` when the budget of attaches is spent. The end event is proved: its
   * count and digest match the received events.
   */
  readonly events: AsyncIterable<StreamEvent>;
  /** Reports that a tool is about to run. Once it resolves, this is stored: after a crash the call comes back as `unknown`, not as `new`. */
  startTool(callId: string): Promise<void>;
  /** Gives a started tool's result. Resolved means stored: it arrives even if this process dies now (with a store that lasts). */
  sendToolResult(callId: string, result: ToolResult): Promise<void>;
  /**
   * `startTool`, `run`, `sendToolResult`. A call with an unknown outcome is not run again unless `rerun` allows its tool to run twice:
   * the model gets "outcome unknown" as its result. A finished call is skipped. Throws `run`'s error.
   */
  runTool(call: ToolCallEvent, run: () => Promise<ToolResult>, options?: { readonly rerun?: boolean }): Promise<void>;
  /**
   * Sends everything that `inputs` yields, in order; each input is stored before the next is requested. Its end closes the sending
   * side, as `close` does. Its errors are thrown, and close nothing. For applications whose tools run elsewhere.
   */
  send(inputs: AsyncIterable<StreamInput>): Promise<void>;
  /** Ends the answer upstream. Resolved means stored; go on reading until the end with `cancelled`. */
  cancel(): Promise<void>;
  /** Reports that no more tool results come. */
  close(): Promise<void>;
  /** Releases a stream whose `events` are not read: its record stays, and others may take it. */
  leave(): Promise<void>;
}

/** The input of an application to a stream. A result without a start before it counts as that of a tool that has just run. */
export type StreamInput =
  | { readonly type: "tool_started"; readonly callId: string }
  | { readonly type: "tool_result"; readonly callId: string; readonly result: ToolResult };

/**
 * Lets its holder read the stream, together with the gateway key that the stream was started with. Sending also needs the ticket
 * of the last welcome, which stays in the owner's record.
 */
export interface StreamPass {
  readonly streamKey: string;
  /** 32 bytes, base64url without padding: opens the gateway's copy of the stream. */
  readonly encryptionKey: string;
}

/** A change of a stream's connection. */
export type ConnectionChange =
  /**
   * `degraded`: the gateway cannot resume this stream; losing the connection will end it. `expiresAtMs`: by the gateway's clock.
   * `turnId`: the turn that ran or runs last, as `GET /v1/turns` lists it; undefined before the first.
   */
  | {
      readonly state: "attached";
      readonly tier: TierName;
      readonly degraded: boolean;
      readonly expiresAtMs: number | undefined;
      readonly turnId: string | undefined;
    }
  /** `fruitless`: attaches in a row that brought nothing. `why`: the gateway's words, where it asked to wait. */
  | {
      readonly state: "reconnecting";
      readonly tier: TierName;
      readonly waitMs: number;
      readonly fruitless: number;
      readonly why: string | undefined;
    };
