/** One reader of what others wrote. */
export interface Target {
  readonly name: string;
  /** What it reads: bytes are changed anywhere, JSON also as values. */
  readonly form: "bytes" | "text" | "json";
  /** Words that its format knows. */
  readonly words?: readonly string[];
  /** Inputs to begin with, beside those of the corpus. */
  seeds(): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
  /** Reads one input. A refusal is a `MillraceError`, or what `refuses` names; anything else that it throws is a finding. */
  run(input: Uint8Array): unknown;
  refuses?(error: unknown): boolean;
}

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (input: Uint8Array): string => new TextDecoder().decode(input);
