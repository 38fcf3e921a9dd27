/** One message, as the model reads it from its input. */
export interface SeenMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
  /** A result of a tool, which no person wrote. */
  readonly toolResult: boolean;
}

/** A tag's name may end in a mark; the tags of one prompt have the same. */
const block = /<(message|tool_result)((?:-\w+)?) ([^>]*)>\n([\s\S]*?)\n?<\/\1\2>/g;
const wrapped = /^[\s\S]*?<conversation((?:-\w+)?)>\n([\s\S]*)\n<\/conversation\1>\n*([\s\S]*)$/;

/**
 * The conversation in one user text: clients of a server that takes one text write the history into tags and put the message to answer
 * after it. A text without them is one message.
 */
export function conversationOf(text: string): SeenMessage[] {
  const match = wrapped.exec(text);
  if (match === null) return [userMessage(text)];
  const [, suffix = "", history = "", now = ""] = match;
  const messages: SeenMessage[] = [];
  for (const [, tag, ownSuffix, attributes = "", body = ""] of history.matchAll(block)) {
    if (ownSuffix !== suffix) continue;
    if (tag === "tool_result") messages.push({ role: "user", text: body, toolResult: true });
    else if (attributes.includes('role="assistant"'))
      messages.push({ role: "assistant", text: body, toolResult: false });
    else messages.push(userMessage(body));
  }
  messages.push(userMessage(now));
  return messages;
}

/** The part of a text that the model must answer: the part after the history, or all of it. */
export function nowOf(text: string): string {
  return wrapped.exec(text)?.[3] ?? text;
}

function userMessage(text: string): SeenMessage {
  return { role: "user", text, toolResult: /^\s*<tool_result(?:-\w+)? name="/.test(text) };
}

/** The texts of the tool results in a message, in order. */
export function toolResultsIn(message: SeenMessage): string[] {
  const found = [...message.text.matchAll(/<(tool_result(?:-\w+)?) [^>]*>\n([\s\S]*?)\n<\/\1>/g)].map(
    (one) => one[2] ?? "",
  );
  return found.length === 0 && message.toolResult ? [message.text] : found;
}
