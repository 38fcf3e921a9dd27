/** How conversations written out as one text mark who speaks. The last mark of a user begins the last message. */
const marks: readonly { readonly pattern: RegExp; readonly user: (who: string) => boolean }[] = [
  { pattern: /^<(user|human|assistant|system|tool|turn|message)\b[^>]*>\s*/gim, user: isUser },
  { pattern: /^#{1,4}\s*(user|human|assistant|system|tool)[^\n]*\n/gim, user: isUser },
  { pattern: /^\[(user|human|assistant|system|tool)[^\]\n]*\]:?\s*/gim, user: isUser },
  { pattern: /^\**(user|human|assistant|system|tool)\**:\**[ \t]*/gim, user: isUser },
];

function isUser(who: string): boolean {
  return /^(user|human)$/i.test(who);
}

/**
 * The last user message of a conversation that a client may have written out as one text, in any of the common forms;
 * the whole text where none is recognised. A guess, as a model guesses.
 */
export function lastUserMessage(text: string): string {
  let start = 0;
  let end = text.length;
  let latest = -1;
  for (const { pattern, user } of marks) {
    const found = [...text.matchAll(pattern)];
    found.forEach((match, i) => {
      if (!user(match[1] ?? "") || match.index <= latest) return;
      latest = match.index;
      start = match.index + match[0].length;
      end = found[i + 1]?.index ?? text.length;
    });
  }
  return text
    .slice(start, end)
    .replace(/<\/(user|human|turn|message)>\s*$/i, "")
    .trim();
}
