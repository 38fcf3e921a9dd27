import { setTimeout as wait } from "node:timers/promises";
import { patience } from "./world.ts";

/** Codes of errors that no repeat under the same key ends. */
const finalError = /"code":"(upstream_failed|invalid_request|unauthenticated|idempotency_conflict)"/;

/**
 * Asks in Chat Completions until the whole answer came, or a final error: as a client does that repeats its request under one key. `gateway`:
 * where each try goes. `onPiece` gets all that the try has read so far.
 */
export async function askUntilWhole(
  gateway: () => { readonly url: string; readonly key: string },
  { body, idempotencyKey }: { readonly body: object; readonly idempotencyKey: string },
  onPiece: (read: string, url: string) => void,
): Promise<{ readonly text: string } | { readonly failed: string; readonly read: string }> {
  const signal = patience();
  for (;;) {
    signal.throwIfAborted();
    const { url, key } = gateway();
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": idempotencyKey,
    };
    const request = { method: "POST", headers, body: JSON.stringify({ ...body, stream: true }), signal };
    let read = "";
    try {
      const response = await fetch(`${url}/v1/chat/completions`, request);
      const decoder = new TextDecoder();
      for await (const piece of response.body ?? []) {
        read += decoder.decode(piece, { stream: true });
        onPiece(read, url);
      }
    } catch {
      signal.throwIfAborted(); // the connection broke, or no gateway listens now
    }
    const failed = finalError.exec(read)?.[1];
    if (failed !== undefined) return { failed, read };
    if (read.includes('"finish_reason":"stop"')) {
      const deltas = [...read.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)];
      return { text: deltas.map(([, delta]) => JSON.parse(`"${delta}"`)).join("") };
    }
    await wait(200); // as clients do between two tries
  }
}
