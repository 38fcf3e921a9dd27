import { toBinary } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { until } from "../../base/wait.fake.ts";
import type { TurnEventBody } from "../../log/event.ts";
import {
  type StreamUnifiedChatResponseWithTools as ServerChunk,
  StreamUnifiedChatResponseWithToolsSchema as ServerChunkSchema,
} from "../../proto/aiserver/v1/chat_pb.ts";
import { type RawAttach, say, type TierName } from "./raw-client.fake.ts";
import { attach, newNames, type StreamWorld, streamWorld } from "./stream-world.fake.ts";

export const call = (callId: string, argumentsText = "{}", name = "look"): TurnEventBody => ({
  type: "tool_call",
  callId,
  name,
  argumentsDelta: argumentsText,
  done: true,
});
export const calls: TurnEventBody = { type: "finished", reason: { unified: "tool_calls", raw: undefined }, text: "" };
export const idsOf = ({ chunks }: RawAttach) => chunks.map(({ eventId }) => eventId);
export const bytesOf = (chunk: ServerChunk) => Buffer.from(toBinary(ServerChunkSchema, chunk)).toString("hex");

/** Until the model was asked for the n-th time (from 1). */
export async function asked({ backend }: StreamWorld, times: number): Promise<void> {
  await until(() => backend.answers.length >= times);
}

/** A stream that asked one question and whose answer is still going on. */
export async function begun(tier: TierName, options: Parameters<typeof streamWorld>[0] = {}) {
  const world = await streamWorld(options);
  const names = newNames();
  const first = attach(world, tier, names).send(say.request("Hello", 0, { tools: ["look"] }));
  await first.until(({ acks, chunks }) => acks.includes(0) && chunks.length > 0);
  await asked(world, 1);
  return { world, names, first };
}

/** A stream with text, a call, its result and more text, at its end. */
export async function whole(tier: TierName) {
  const { world, names, first } = await begun(tier);
  world.backend.last.emit({ type: "thinking", delta: "hm" }, { type: "text", delta: "Let me " });
  world.backend.last.emit({ type: "text", delta: "look." }, call("c1", '{"at":"x"}'), calls);
  world.backend.last.end();
  await first.until(({ chunks }) => chunks.at(-1)?.response.case === "streamUnifiedChatResponse" && chunks.length > 3);
  first.send(say.result("c1", "seen", 1));
  await asked(world, 2);
  world.backend.last.text("It is ", "there.");
  world.backend.last.finish("It is there.");
  expect(await first.ended).toBeUndefined();
  return { world, names, first };
}
