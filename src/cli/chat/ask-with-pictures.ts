import { extname } from "node:path";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { waitBefore } from "../../client/link/backoff.ts";
import type { StreamEvent } from "../../client/stream/stream-event.ts";
import type { CommandContext } from "../command.ts";
import { ask, type GatewayClient, type Question, sameGateway } from "../gateway-process/gateway-client.ts";
import { readBytes } from "./read-question.ts";
import type { ShownStream } from "./show-answer.ts";

/** The types of images that the HTTP APIs accept. Source: docs/http-api.md. */
const types: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

/** A picture as a data URL. @throws MillraceError `invalid_request` for another type, or a file that cannot be read. */
export async function readPicture(path: string): Promise<string> {
  const type = types[extname(path).toLowerCase()];
  if (type !== undefined) return `data:${type};base64,${(await readBytes(path)).toString("base64")}`;
  throw new MillraceError("invalid_request", `${path} is not a picture that can be sent.`, {
    hint: "Use a PNG, JPEG, GIF or WebP file with one of their usual endings.",
  });
}

/** Half a minute in all. */
const backoff = { baseMs: 250, capMs: 5000, budget: 12 };

/**
 * Asks a question with pictures. The stream protocol carries none, so the question goes over Chat Completions, with a key. If the
 * connection breaks, the same request gets the same answer, and the part already shown is skipped.
 */
export function askWithPictures(
  gateway: GatewayClient,
  question: Question,
  leave: AbortController,
  { io, out, settings }: CommandContext,
): ShownStream {
  const keyed = { ...question, idempotencyKey: crypto.randomUUID() };
  async function* events(): AsyncGenerator<StreamEvent, void> {
    const shown = { text: 0, thinking: 0 };
    for (let failures = 0; ; ) {
      const seen = { text: 0, thinking: 0 };
      try {
        const now = await sameGateway(gateway, settings, leave.signal);
        for await (const piece of ask(now, keyed, leave.signal)) {
          if (piece.type === "end") return yield finished(piece.reason);
          const from = Math.max(0, shown[piece.type] - seen[piece.type]);
          seen[piece.type] += piece.delta.length;
          const delta = piece.delta.slice(from);
          if (delta === "") continue;
          shown[piece.type] += delta.length;
          yield { type: piece.type, delta, eventId: "" };
        }
      } catch (error) {
        const isBroken = !isMillraceError(error) || error.cause !== undefined;
        const waitMs = isBroken ? waitBefore(++failures, backoff, Math.random) : undefined;
        if (leave.signal.aborted || waitMs === undefined) throw error;
        if (failures === 2) out.note("The gateway does not answer. Trying again.");
        await io.clock.sleep(waitMs, leave.signal);
      }
    }
  }
  return {
    events: events(),
    cancel: async () => leave.abort(), // the gateway cancels an answer that no client asks for within its grace time
  };
}

const finished = (reason: string): StreamEvent => ({
  type: "end",
  outcome: "finished",
  reason,
  text: undefined,
  errorCode: undefined,
  errorMessage: undefined,
  errorHint: undefined,
  promptTokens: undefined,
  completionTokens: undefined,
  eventId: "",
});
