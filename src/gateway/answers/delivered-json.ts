import { jsonHeaders } from "../http/context.ts";
import { pulledBody } from "../http/sse-body.ts";

/**
 * A body that is all its client asked for of a turn: once it was taken whole, asking the same again is another turn. One
 * whose client went away before that is asked again, and joins it.
 */
export function deliveredJson(
  handOver: () => Promise<void>,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Response {
  const text = JSON.stringify(body);
  async function* taken(): AsyncGenerator<string, void> {
    yield text;
    await handOver();
  }
  const length = { "content-length": String(Buffer.byteLength(text)) };
  return new Response(pulledBody(taken(), new AbortController()), {
    headers: { ...jsonHeaders, ...length, ...headers },
  });
}
