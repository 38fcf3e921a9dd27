/** The same statements in words on which no known client repeats a request. */
const otherWords: readonly (readonly [RegExp, string])[] = [
  [/\b(message )?rate limit\b/gi, "limit on messages"],
  [/\binternal (?:server )?error\b/gi, "internal fault"],
  [/\bserver error\b/gi, "server fault"],
  [/\btry again (later|in)\b/gi, "ask again $1"],
  [/\bconnection (error|refused|lost)\b/gi, "link $1"],
  [/\b(?:timeout|timed out|time out)\b/gi, "too slow"],
  [/\bterminated\b/gi, "ended"],
  [/\bat capacity\b/gi, "fully used"],
];

/** The message if the table has none. */
const lastResort = "The request failed and is not repeated. `millrace tail` shows why.";

/** The body without the words that provoke a repeat: replaced in a message, left out elsewhere. */
export function inPlainWords(body: unknown, provoking: RegExp, name = ""): unknown {
  if (typeof body === "string") {
    const said = otherWords.reduce((text, [words, others]) => text.replace(words, others), body);
    if (!provoking.test(said)) return said;
    return name === "message" ? lastResort : undefined;
  }
  if (typeof body === "number") return provoking.test(String(body)) ? undefined : body;
  if (Array.isArray(body)) return body.map((item: unknown) => inPlainWords(item, provoking)).filter(isSaid);
  if (typeof body !== "object" || body === null) return body;
  const members = Object.entries(body).map(([key, value]) => [key, inPlainWords(value, provoking, key)] as const);
  return Object.fromEntries(members.filter(([key, value]) => isSaid(value) && !provoking.test(key)));
}

function isSaid(value: unknown): boolean {
  return value !== undefined;
}
