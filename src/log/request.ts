import type { Effort } from "../base/effort.ts";

/** A piece of a message. Images carry base64 without a data-URL prefix. */
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mimeType: string; readonly base64: string };

/** A call that the assistant made earlier, as the client shows it. `kind` "freeform" carries raw text, not JSON. */
export interface ToolCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  readonly kind: "function" | "freeform";
}

/** One message of the visible history, in order. */
export type Message =
  | { readonly role: "system" | "user"; readonly parts: readonly Part[] }
  | {
      readonly role: "assistant";
      readonly parts: readonly Part[];
      readonly thinking?: string;
      readonly toolCalls: readonly ToolCall[];
    }
  | {
      readonly role: "tool";
      readonly callId: string;
      readonly name?: string;
      readonly parts: readonly Part[];
      readonly isError: boolean;
    };

/** A tool that the client offers and runs itself. `parameters` is a JSON Schema; freeform tools take one raw string. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly kind: "function" | "freeform";
  readonly parameters: Readonly<Record<string, unknown>>;
}

export type ToolChoice =
  | { readonly type: "auto" | "none" | "required" }
  | { readonly type: "named"; readonly name: string };

export type ResponseFormat =
  | { readonly type: "text" }
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema";
      readonly name: string;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly strict: boolean;
    };

export type ReasoningEffort = Effort;

/** A client's request, independent of any API: every dialect parses into it, and every backend reads it. */
export interface TurnRequest {
  /** The model's name as the client wrote it. */
  readonly model: string;
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  readonly responseFormat: ResponseFormat;
  /** Enforced here, across chunk borders. */
  readonly stop: readonly string[];
  readonly maxOutputTokens?: number;
  readonly reasoningEffort?: ReasoningEffort;
}
