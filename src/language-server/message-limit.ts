import type { CallOptions, Client } from "@connectrpc/connect";
import type { ModelUid } from "../base/ids.ts";
import type {
  CheckChatCapacityResponse,
  CheckUserMessageRateLimitResponse,
  LanguageServerService,
} from "../proto/windsurf/exa/language_server_pb.ts";
import { upstreamReason } from "./errors/errors.ts";
import type { metadataFor } from "./metadata.ts";

/** The server's answer to the question whether a model may be asked now. Missing fields are undefined. */
export interface MessageLimit {
  readonly hasCapacity: boolean;
  readonly messagesRemaining: number | undefined;
  readonly maxMessages: number | undefined;
  /** How long until the limit ends; ms. */
  readonly resetsInMs: number | undefined;
}

/** Asks both RPCs for one model, without a prompt. Undefined where the build lacks them, or they say nothing. */
export async function askMessageLimit(
  client: Pick<Client<typeof LanguageServerService>, "checkUserMessageRateLimit" | "checkChatCapacity">,
  request: { readonly metadata: ReturnType<typeof metadataFor>; readonly modelUid: ModelUid },
  read: <T>(rpc: (options: CallOptions) => Promise<T>) => Promise<T>,
): Promise<MessageLimit | undefined> {
  const [messages, chat] = await Promise.all([
    orMissing(read((call) => client.checkUserMessageRateLimit(request, call))),
    orMissing(read((call) => client.checkChatCapacity(request, call))),
  ]);
  return messageLimit(messages, chat);
}

/**
 * Combines both answers. The wire leaves out `false` and 0, so an answer without any member is unknown. An answer with a
 * maximum also has the count of messages; -1 means that there is no such limit.
 *
 * Source: docs/dev/wire/language-server.md, "Limits".
 */
export function messageLimit(
  messages: CheckUserMessageRateLimitResponse | undefined,
  chat: CheckChatCapacityResponse | undefined,
): MessageLimit | undefined {
  const told = [messages, chat].filter((answer) => answer !== undefined).filter(saysSomething);
  if (told.length === 0) return undefined;
  const { maxMessages = 0, messagesRemaining = 0, resetsInSeconds = 0n } = messages ?? {};
  return {
    hasCapacity: told.every((answer) => answer.hasCapacity),
    messagesRemaining: maxMessages > 0 && messagesRemaining >= 0 ? messagesRemaining : undefined,
    maxMessages: maxMessages > 0 ? maxMessages : undefined,
    resetsInMs: resetsInSeconds > 0n ? Number(resetsInSeconds) * 1000 : undefined,
  };
}

function saysSomething(answer: CheckUserMessageRateLimitResponse | CheckChatCapacityResponse): boolean {
  if (answer.hasCapacity || answer.message !== "") return true;
  return "maxMessages" in answer
    ? answer.maxMessages !== 0 || answer.messagesRemaining !== 0 || answer.resetsInSeconds !== 0n
    : answer.activeSessions !== 0;
}

async function orMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (upstreamReason(error) === "not_implemented") return undefined;
    throw error;
  }
}
