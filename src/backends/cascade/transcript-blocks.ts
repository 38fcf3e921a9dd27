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

/** More look-alikes than this are not weighed against each other. */
const mostCandidates = 150;

/** The cost of each way to read a block; the cheapest reading of the whole wins. */
const cost = {
  gap: 3,
  backwards: 5,
  repeated: 1_000,
  missing: 20,
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
 * - The body of a Tool message is one bracketed marker; only an error has a text after it.
 * - Numbers are not repeated and nearly always consecutive.
 *
 * A transcript that a server gives twice over, one copy behind the other, is read once.
 *
 * The reading that fits these rules best wins; among equals, the one that gives more text to the earlier messages. So a
 * look-alike inside an answer stays text, unless it is exactly where a real message could be. The format cannot separate the two
 * then, and only that line moves to the wrong place. Source: docs/dev/wire/cascade.md, "Transcript".
 */
export function readTranscript(
  rendered: string,
  total: number,
  prompt: string,
): { readonly blocks: readonly TranscriptBlock[]; readonly missing: number } {
  const transcript = onceOnly(rendered);
  const candidates = findHeaders(transcript, prompt);
  const plain = candidates.length === total && candidates.every((h, i) => i === 0 || follows(candidates[i - 1], h));
  const chosen = plain ? candidates : chooseHeaders(transcript, thinned(candidates), total, prompt);
  const blocks = chosen.map((header, i) => ({
    number: header.number,
    role: header.role,
    body: bodyOf(transcript, header, chosen[i + 1]),
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

function follows(before: Header | undefined, header: Header): boolean {
  return before !== undefined && header.number === before.number + 1;
}

/** The first and the last of too many: real ones stand before and after the answer that holds the others. */
function thinned(headers: readonly Header[]): readonly Header[] {
  const half = mostCandidates / 2;
  return headers.length <= mostCandidates ? headers : [...headers.slice(0, half), ...headers.slice(-half)];
}

/**
 * The cheapest chain of headers that begins with the first one, by dynamic programming from the end: `chain[i][n]` is the
 * best reading of everything from candidate i on, in n blocks.
 */
function chooseHeaders(
  transcript: string,
  candidates: readonly Header[],
  total: number,
  prompt: string,
): readonly Header[] {
  if (candidates.length <= 1) return candidates;
  const text = { transcript, prompt };
  const limit = total > 0 ? Math.min(total, candidates.length) : candidates.length;
  interface Split {
    readonly price: number;
    readonly next: number;
  }
  const readings: (Split | undefined)[][] = candidates.map(() => []);
  const prices = candidates.map((header, i) =>
    candidates.map((next, j) =>
      j <= i ? Infinity : stepPrice(header, next) + bodyPrice(text, header, next, j - i - 1),
    ),
  );
  for (let i = candidates.length - 1; i >= 0; i--) {
    const header = candidates[i];
    const row = readings[i];
    if (header === undefined || row === undefined) continue;
    for (let n = 1; n <= limit; n++) {
      let best: Split | undefined;
      if (n === 1) best = { price: bodyPrice(text, header, undefined, candidates.length - 1 - i), next: -1 };
      else {
        for (let j = i + 1; j < candidates.length; j++) {
          const rest = readings[j]?.[n - 1];
          if (rest === undefined) continue;
          const price = rest.price + (prices[i]?.[j] ?? Infinity);
          if (best === undefined || price <= best.price) best = { price, next: j };
        }
      }
      row[n] = best;
    }
  }
  let blocks = 0;
  let cheapest = Infinity;
  for (let n = 1; n <= limit; n++) {
    const price = (readings[0]?.[n]?.price ?? Infinity) + (total > 0 ? (total - n) * cost.missing : 0);
    if (price < cheapest || (total === 0 && price === cheapest)) [blocks, cheapest] = [n, price];
  }
  const chosen: Header[] = [];
  for (let i = 0, n = blocks; i >= 0 && n > 0; n--) {
    const header = candidates[i];
    if (header !== undefined) chosen.push(header);
    i = readings[i]?.[n]?.next ?? -1;
  }
  return chosen;
}

function stepPrice(header: Header, next: Header): number {
  if (next.number === header.number) return cost.repeated;
  if (next.number < header.number) return cost.backwards;
  return next.number === header.number + 1 ? 0 : cost.gap;
}

/** `inside`: how many look-alikes the body would hold. An answer may hold any number of them. */
function bodyPrice(
  { transcript, prompt }: { readonly transcript: string; readonly prompt: string },
  header: Header,
  next: Header | undefined,
  inside: number,
): number {
  const length = (next?.at ?? transcript.length) - header.bodyAt;
  switch (header.role) {
    case "Assistant":
    case "System":
      return 0;
    case "User":
      if (!transcript.startsWith(prompt, header.bodyAt)) return cost.otherUser + Math.min(inside, 10);
      return length > prompt.length + 2 ? cost.userTail : 0;
    case "Tool":
      if (length > 200 && !transcript.startsWith(errorMarker, header.bodyAt)) return cost.badMarker;
      return length === 0 || markerBody.test(bodyOf(transcript, header, next)) ? 0 : cost.badMarker;
  }
}
