/** One server-sent event. */
export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

/**
 * The events of a stream, as they come; those that came together are one list. `fetch` instead of `EventSource`, which would hide why a stream ended and try again
 * without end when the session is over. Source: WHATWG HTML, 9.2.6.
 */
export async function* readBatches(response: Response): AsyncGenerator<readonly ServerEvent[], void> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      if (blocks.length > 0) yield blocks.map(parseEvent);
    }
  } finally {
    await reader.cancel().catch(() => undefined); // it has ended, or broke off: nothing is left to free
  }
}

function parseEvent(block: string): ServerEvent {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return { name, data: data.join("\n") };
}
