import { createParser } from "eventsource-parser";
import type { Curve } from "./curve.ts";

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly error?: unknown;
}

/** Asks one question as an OpenAI client does and notes when each part of the answer arrives. Throws when it fails. */
export async function ask(gateway: { url: string; key: string }, model: string, text: string): Promise<Curve> {
  const askedAt = performance.now();
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, stream: true, messages: [{ role: "user", content: text }] }),
  });
  if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`);
  const points: { atMs: number; characters: number }[] = [];
  let characters = 0;
  let endMs = Number.NaN;
  const parser = createParser({
    onEvent({ data }) {
      const atMs = performance.now() - askedAt;
      if (data === "[DONE]") {
        endMs = atMs;
        return;
      }
      const chunk = JSON.parse(data) as Chunk; // the gateway's own wire
      if (chunk.error !== undefined) throw new Error(`the turn failed: ${data}`);
      const content = chunk.choices?.[0]?.delta?.content ?? "";
      if (content === "") return;
      characters += content.length;
      points.push({ atMs, characters });
    },
  });
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) parser.feed(piece);
  if (Number.isNaN(endMs)) throw new Error("the stream ended without [DONE]");
  return { points, endMs };
}
