export interface TranscriptBlock {
  readonly number: number;
  readonly role: "User" | "Assistant" | "Tool" | "System";
  readonly body: string;
}

interface Header {
  readonly number: number;
  readonly role: TranscriptBlock["role"];
  /** Where the header line begins, and where its body does. */
  readonly at: number;
  readonly bodyAt: number;
}

const headerLine = /^=== MESSAGE (\d{1,9}) - (User|Assistant|Tool|System) ===\n/gm;
/** Only an error carries a text after its marker. Source: docs/dev/wire/cascade.md, "Errors". */
const markerBody = /^\[CORTEX_STEP_TYPE_(?:[A-Z0-9_]+\]$|ERROR_MESSAGE\]\s)/;

const errorMarker = "[CORTEX_STEP_TYPE_ERROR_MESSAGE]";

/** The cost of each way to read a block; the cheapest reading of the whole wins. */
const cost = {
  gap: 3,
  backwards: 5,
  repeated: 1_000,
  userTail: 15,
  otherUser: 12,
  badMarker: 50,
} as const;

/**
 * Splits a transcript into its messages, in the order of their numbers. `total` is how many steps it renders, one block
 * each; 0 when the server does not say. `prompt` is the user message that was sent.
 *
 * An answer or a prompt may hold a line that looks like a header. These rules separate them:
 *
 * - A real header begins the transcript or follows a blank line, and there is one for each step.
 * - The prompt is skipped as a whole if it appears word for word.
 * - The look-alikes stand in one answer.
 * - The body of a Tool message is one bracketed marker; only an error has a text after it.
 * - Numbers are not repeated and nearly always consecutive.
 *
 * A transcript that a server gives twice over, one copy behind the other, is read once.
 *
 * The reading that fits these rules best wins; among equals, the first. So a look-alike inside an answer stays text, unless it is exactly
 * where a real message could be. The format cannot separate the two then, and only that line moves to the wrong place. Source:
 * docs/dev/wire/cascade.md, "Transcript".
 */
export function readTranscript(
  rendered: string,
  total: number,
  prompt: string,
): { readonly blocks: readonly TranscriptBlock[]; readonly missing: number } {
  const transcript = onceOnly(rendered);
  const headers = withoutLookAlikes({ transcript, prompt }, findHeaders(transcript, prompt), total);
  const blocks = headers.map((header, i) => ({
    number: header.number,
    role: header.role,
    body: bodyOf(transcript, header, headers[i + 1]),
  }));
  blocks.sort((a, b) => a.number - b.number);
  return { blocks, missing: Math.max(0, total - blocks.length) };
}

function bodyOf(transcript: string, header: Header, next: Header | undefined): string {
  const body = transcript.slice(header.bodyAt, next?.at ?? transcript.length);
  return body.endsWith("\n\n") ? body.slice(0, -2) : body;
}

/** Every line that could be a header, in order. */
function findHeaders(transcript: string, prompt: string): Header[] {
  const headers: Header[] = [];
  let skipUntil = 0;
  const sent = `${prompt}\n\n`; // made once: a prompt may have megabytes, and an answer thousands of such lines
  for (const match of transcript.matchAll(headerLine)) {
    const [line, number, role] = match;
    const at = match.index;
    if (at < skipUntil || (at > 0 && !transcript.startsWith("\n\n", at - 2))) continue;
    const bodyAt = at + line.length;
    // the expression lets nothing else through
    headers.push({ number: Number(number), role: role as TranscriptBlock["role"], at, bodyAt });
    if (role === "User" && transcript.startsWith(sent, bodyAt)) skipUntil = bodyAt + sent.length;
  }
  return headers[0]?.at === 0 ? headers : [];
}

/** A server that gives its transcript twice over gives it here once. */
function onceOnly(transcript: string): string {
  const half = transcript.length / 2;
  const firstLine = transcript.slice(0, transcript.indexOf("\n") + 1);
  if (!Number.isInteger(half) || firstLine === "" || !transcript.startsWith(firstLine, half)) return transcript;
  const first = transcript.slice(0, half);
  return transcript.endsWith(first) ? first : transcript;
}

/** What a reading is judged by. */
interface TranscriptOfPrompt {
  readonly transcript: string;
  readonly prompt: string;
}

/** Leaves out the headers past `total`: those in a row whose absence makes the cheapest reading. */
function withoutLookAlikes(asked: TranscriptOfPrompt, headers: readonly Header[], total: number): readonly Header[] {
  const extra = headers.length - total;
  if (total === 0 || extra <= 0) return headers;
  let cheapest: readonly Header[] = [];
  let least = Infinity;
  for (let at = 1; at <= total; at++) {
    const reading = [...headers.slice(0, at), ...headers.slice(at + extra)];
    const price = reading.reduce((sum, header, i) => sum + priceOf(asked, header, reading[i + 1]), 0);
    if (price < least) [cheapest, least] = [reading, price];
  }
  return cheapest;
}

function priceOf(asked: TranscriptOfPrompt, header: Header, next: Header | undefined): number {
  return bodyPrice(asked, header, next) + (next === undefined ? 0 : stepPrice(header, next));
}

function stepPrice(header: Header, next: Header): number {
  if (next.number === header.number) return cost.repeated;
  if (next.number < header.number) return cost.backwards;
  return next.number === header.number + 1 ? 0 : cost.gap;
}

function bodyPrice({ transcript, prompt }: TranscriptOfPrompt, header: Header, next: Header | undefined): number {
  const length = (next?.at ?? transcript.length) - header.bodyAt;
  switch (header.role) {
    case "Assistant":
    case "System":
      return 0;
    case "User":
      if (!transcript.startsWith(prompt, header.bodyAt)) return cost.otherUser;
      return length > prompt.length + 2 ? cost.userTail : 0;
    case "Tool":
      if (length > 200 && !transcript.startsWith(errorMarker, header.bodyAt)) return cost.badMarker;
      return length === 0 || markerBody.test(bodyOf(transcript, header, next)) ? 0 : cost.badMarker;
  }
}
