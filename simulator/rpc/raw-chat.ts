import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type ChatMessage,
  RawChatMessageSchema,
  type RawGetChatMessageRequest,
} from "../../src/proto/windsurf/exa/chat_pb.ts";
import { ChatMessageSource } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import {
  type RawGetChatMessageResponse,
  RawGetChatMessageResponseSchema,
} from "../../src/proto/windsurf/exa/language_server_pb.ts";
import { readDirectives } from "../faults/directives.ts";
import { type ErrorName, errorTexts, rpcError } from "../faults/error-texts.ts";
import { mergePlans } from "../faults/turn-plan.ts";
import { answerPace } from "../model/engine.ts";
import { modelAnswer } from "../model/helper.ts";
import { checkMetadata } from "./checks.ts";
import type { RpcContext } from "./context.ts";

/**
 * The 1.x way: one server stream of deltas, errors inside the stream with status 0. Newer builds refuse it from outside
 * with the Cascade-session error in the trailer. Source: docs/dev/wire/language-server.md, "Raw chat", "Error texts".
 */
export async function* rawGetChatMessage(
  context: RpcContext,
  request: RawGetChatMessageRequest,
  handler: HandlerContext,
): AsyncGenerator<RawGetChatMessageResponse, void> {
  if (context.profile.rawChat === "trailer") throw rpcError("session");
  const say = sayer(context);
  checkMetadata(context, request.metadata);
  const messages = request.chatMessages.map(spoken).filter((message) => message.text !== "");
  const last = messages.pop();
  const chosen = context.account.choose(request.chatModelName, request.chatModel, context.clock.now());
  if (last === undefined || chosen.refusal !== undefined) {
    yield say(last === undefined ? "no message to answer" : refusalText(chosen.refusal), { isError: true });
    return;
  }
  const instructions = request.systemPromptOverride;
  const directives = readDirectives(last.text);
  const plan = mergePlans(context.turnDefaults.current, readDirectives(instructions).plan, directives.plan);
  context.spend(Math.round((chosen.config?.creditMultiplier ?? 0) * 100));
  const pace = answerPace(plan);
  const { clock } = context;
  if (pace.firstMs > 0) await clock.sleep(pace.firstMs, handler.signal);
  const deltas = modelAnswer({
    text: last.text,
    asked: directives.text,
    instructions,
    history: messages,
    images: [],
    modelUid: chosen.uid,
    modelLabel: chosen.config?.label ?? chosen.uid,
    thinks: false,
    outputLimit: undefined,
    plan,
  });
  let length = 0;
  for (const delta of deltas) {
    if (delta.kind !== "text") continue;
    const size = pace.charsPerSecond === Infinity ? delta.text.length : pace.chunk;
    for (let at = 0; at < delta.text.length; at += size) {
      if (plan.error !== undefined && length >= (plan.errorAfter ?? 0)) break;
      const piece = delta.text.slice(at, at + size);
      length += piece.length;
      yield say(piece, { inProgress: true });
      if (pace.charsPerSecond !== Infinity) await clock.sleep((size / pace.charsPerSecond) * 1000, handler.signal);
    }
  }
  if (plan.error === undefined) yield say("", { inProgress: false });
  else if (plan.errorAt === "send") throw rpcError(plan.error);
  else yield say(errorTexts(plan.error).text, { isError: true });
}

function sayer(context: RpcContext) {
  const messageId = `bot-${context.newId()}`;
  const conversationId = context.newId();
  return (text: string, state: { readonly inProgress?: boolean; readonly isError?: boolean }) =>
    create(RawGetChatMessageResponseSchema, {
      deltaMessage: create(RawChatMessageSchema, {
        messageId,
        conversationId,
        source: ChatMessageSource.SYSTEM,
        timestamp: timestampFromMs(context.clock.now()),
        text,
        inProgress: state.inProgress ?? false,
        isError: state.isError ?? false,
      }),
    });
}

function refusalText(refusal: ErrorName | { readonly text: string } | undefined): string {
  if (refusal === undefined) return "";
  return typeof refusal === "string" ? errorTexts(refusal).text : refusal.text;
}

/** The speaker and the text of a message of the old form; other kinds of content have none. */
function spoken(message: ChatMessage): { role: "user" | "assistant"; text: string } {
  const { content } = message;
  if (content.case === "intent" && content.value.intent.case === "generic") {
    return { role: "user", text: content.value.intent.value.text };
  }
  if (content.case === "action" && content.value.action.case === "generic") {
    return { role: "assistant", text: content.value.action.value.text };
  }
  return { role: "user", text: "" };
}
