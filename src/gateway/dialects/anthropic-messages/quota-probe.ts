import { z } from "zod";

const probe = z.object({
  model: z.string(),
  max_tokens: z.literal(1),
  messages: z.tuple([z.object({ role: z.literal("user"), content: z.literal("quota") })]),
  stream: z.literal(false).optional(),
});

/**
 * The answer to the message by which Claude Code sees whether its account answers. It is made here, because a model would cost
 * the user a prompt at each poll. Undefined for every other body. Source: docs/wire/clients.md, "Messages".
 */
export function answerQuotaProbe(body: unknown, requestId: string): unknown {
  const parsed = probe.safeParse(body);
  if (!parsed.success) return undefined;
  return {
    id: `msg_${requestId.replaceAll(/[^\w]/g, "")}`,
    type: "message",
    role: "assistant",
    model: parsed.data.model,
    content: [{ type: "text", text: "ok" }],
    stop_reason: "max_tokens",
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  };
}
