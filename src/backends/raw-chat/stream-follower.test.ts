import { create } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TurnEventBody } from "../../log/event.ts";
import { RawChatMessageSchema } from "../../proto/windsurf/exa/chat_pb.ts";
import { ChatMessageSource } from "../../proto/windsurf/exa/codeium_common_pb.ts";
import { replay } from "../replay.fake.ts";
import { followStream, startStream } from "./run.ts";

type WireMessage = { text: string; inProgress?: boolean; messageId?: string; source?: ChatMessageSource };

function follow(messages: readonly WireMessage[]): TurnEventBody[] {
  let state = startStream;
  const events: TurnEventBody[] = [];
  for (const message of messages) {
    const init = { messageId: "bot-1", inProgress: true, source: ChatMessageSource.UNKNOWN, ...message };
    const followed = followStream(state, create(RawChatMessageSchema, init));
    events.push(...followed.events);
    state = followed.state;
  }
  return events;
}

const textOf = (messages: readonly WireMessage[]) => replay(follow(messages)).text;

describe("followStream", () => {
  test("texts that grow", () => {
    expect(follow([{ text: "Hel" }, { text: "Hello" }, { text: "Hello!", inProgress: false }])).toEqual([
      { type: "text", delta: "Hel" },
      { type: "text", delta: "lo" },
      { type: "text", delta: "!" },
    ]);
  });

  test("deltas, with and without the whole text at the end", () => {
    expect(textOf([{ text: "Hel" }, { text: "lo" }, { text: "", inProgress: false }])).toBe("Hello");
    expect(textOf([{ text: "Hel" }, { text: "lo" }, { text: "!", inProgress: false }])).toBe("Hello!");
    expect(textOf([{ text: "Hel" }, { text: "lo" }, { text: "Hello!", inProgress: false }])).toBe("Hello!");
  });

  test("deltas that look like growth at first are put right", () => {
    expect(textOf([{ text: "ha" }, { text: "haha" }, { text: "!" }])).toBe("hahaha!");
  });

  test("a growing text that was rewritten is one, once it is long enough to be sure", () => {
    const long = "This sentence is long enough to be sure.";
    expect(textOf([{ text: long }, { text: `${long} And on.` }, { text: "Rewritten." }])).toBe("Rewritten.");
  });

  test("a second message follows the first, and an echo of the user's is not part of the answer", () => {
    expect(
      textOf([{ text: "hi", source: ChatMessageSource.USER }, { text: "a" }, { text: "b", messageId: "bot-2" }]),
    ).toBe("ab");
  });

  const piece = fc.string({ unit: fc.constantFrom("a", "b", "c", "🙂", "é"), minLength: 1, maxLength: 4 });
  const pieces = fc.array(piece, { minLength: 1, maxLength: 20 });

  test("any text that grows arrives without a rewrite", () => {
    fc.assert(
      fc.property(pieces, (parts) => {
        const messages = parts.map((_, i) => ({ text: parts.slice(0, i + 1).join("") }));
        const events = follow(messages);
        expect(replay(events).text).toBe(parts.join(""));
        expect(events.every((event) => event.type === "text")).toBe(true);
      }),
    );
  });

  test("any deltas arrive whole, as soon as two of them show that they are deltas", () => {
    fc.assert(
      fc.property(pieces, (parts) => {
        const grows = parts.every((part, i) => i === 0 || part.startsWith(parts[i - 1] ?? ""));
        fc.pre(!grows);
        expect(textOf(parts.map((text) => ({ text })))).toBe(parts.join(""));
      }),
    );
  });
});
