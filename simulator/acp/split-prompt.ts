/** A content block of a prompt, as far as the agent reads it. */
interface Block {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly mimeType?: unknown;
  readonly data?: unknown;
}

/** A client's prompt, read as a model reads it. */
export interface IncomingPrompt {
  /** All text. */
  readonly whole: string;
  /** The text that seems to be instructions rather than the question. */
  readonly instructions: string;
  /** The rest, or the whole prompt if the parts cannot be separated. */
  readonly text: string;
  readonly images: readonly { readonly mimeType: string; readonly base64: string }[];
}

const tagged = /<(instructions|system)((?:-\w+)?)>\n?([\s\S]*?)\n?<\/\1\2>\s*/;

/**
 * ACP has no place for instructions, so clients write them into the prompt: as text blocks before the last one, or in
 * `<instructions>` tags. A text that offers tools or demands a form is read for that as a whole.
 */
export function readPrompt(blocks: unknown): IncomingPrompt | undefined {
  if (!Array.isArray(blocks)) return undefined;
  const list = (blocks as unknown[]).filter((block): block is Block => typeof block === "object" && block !== null);
  const texts = list.flatMap((block) => (block.type === "text" && typeof block.text === "string" ? [block.text] : []));
  const images = list.flatMap((block) =>
    block.type === "image"
      ? [{ mimeType: stringOr(block.mimeType, "image/png"), base64: stringOr(block.data, "") }]
      : [],
  );
  const whole = texts.join("\n\n");
  if (texts.length > 1) {
    return { whole, instructions: texts.slice(0, -1).join("\n\n"), text: texts.at(-1) ?? "", images };
  }
  const match = tagged.exec(whole);
  if (match !== null) {
    return { whole, instructions: match[3] ?? "", text: whole.replace(match[0], ""), images };
  }
  return { whole, instructions: offersSomething(whole) ? whole : "", text: whole, images };
}

/** Whether the agent takes a prompt for one of its commands, as many agents do, and asks no model: its text begins with a slash. */
export function isCommand({ whole }: IncomingPrompt): boolean {
  return whole.trimStart().startsWith("/");
}

/** Whether a text offers tools or demands a form of the answer. */
export function offersSomething(text: string): boolean {
  return /^# (?:Tools|Form of the answer)$/m.test(text);
}

function stringOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}
