import { EventSourceParserStream } from "eventsource-parser/stream";
import { z } from "zod";
import type { Model, ModelDelta, ModelPrompt } from "./model.ts";

const chunkSchema = z.object({
  choices: z
    .array(
      z.object({
        delta: z.object({
          content: z.string().nullish(),
          reasoning_content: z.string().nullish(),
          reasoning: z.string().nullish(),
        }),
      }),
    )
    .default([]),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish(),
});

/**
 * A model behind an OpenAI-compatible `/chat/completions`, streamed as it comes: Ollama, llama.cpp, vLLM.
 *
 * @param baseUrl up to and without `/chat/completions`.
 * @param name the model to ask for; the UID that the client chose when undefined.
 */
export function upstreamModel(baseUrl: string, name: string | undefined): Model {
  return {
    live: true,
    async *answer(prompt: ModelPrompt, signal: AbortSignal): AsyncGenerator<ModelDelta, void> {
      const response = await fetch(`${baseUrl.replace(/\/+$/, "")}/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          model: name ?? prompt.modelUid,
          messages: messagesOf(prompt),
          max_tokens: prompt.maxOutputTokens,
          stream: true,
          stream_options: { include_usage: true },
        }),
        signal,
      });
      if (!response.ok || response.body === null) {
        throw new Error(`an internal error occurred: the model behind the simulator answered ${response.status}`);
      }
      const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
      for await (const event of events) {
        if (event.data === "[DONE]") return;
        const chunk = chunkSchema.parse(JSON.parse(event.data));
        const delta = chunk.choices[0]?.delta;
        const thinking = delta?.reasoning_content ?? delta?.reasoning ?? "";
        if (thinking !== "") yield { kind: "thinking", text: thinking };
        if (delta?.content !== undefined && delta.content !== null && delta.content !== "") {
          yield { kind: "text", text: delta.content };
        }
        if (chunk.usage !== undefined && chunk.usage !== null) {
          yield {
            kind: "usage",
            inputTokens: chunk.usage.prompt_tokens,
            outputTokens: chunk.usage.completion_tokens,
          };
        }
      }
    },
  };
}

function messagesOf(prompt: ModelPrompt) {
  const user =
    prompt.images.length === 0
      ? prompt.asked
      : [
          { type: "text", text: prompt.asked },
          ...prompt.images.map((image) => ({
            type: "image_url",
            image_url: { url: `data:${image.mimeType};base64,${image.base64}` },
          })),
        ];
  return [
    ...(prompt.instructions === "" ? [] : [{ role: "system", content: prompt.instructions }]),
    ...prompt.history.map((message) => ({ role: message.role, content: message.text })),
    { role: "user", content: user },
  ];
}
