import { expect, it } from "vitest";
import { questionOf } from "./question.ts";
import type { Message } from "./request.ts";

const user = (...texts: readonly string[]): Message => ({
  role: "user",
  parts: texts.map((text) => ({ type: "text", text })),
});
const read = (...messages: readonly Message[]) => questionOf({ messages });

it("is the first line of what the user asked last, without the blocks of the client", () => {
  const system: Message = { role: "system", parts: [{ type: "text", text: "rules" }] };
  const answer: Message = { role: "assistant", parts: [{ type: "text", text: "An answer." }], toolCalls: [] };
  const image: Message = { role: "user", parts: [{ type: "image", mimeType: "image/png", base64: "" }] };
  expect(read(system, user("first"), answer, user("  second\nmore"), answer)).toBe("second");
  expect(read(user("<a>1</a> <b-c>2</b-c>\n", "fix <it>\nnow"))).toBe("fix <it>");
  expect(read(user("What is this?"), user("<reminder>only a block</reminder>"))).toBe("What is this?");
  expect(read(user("<open> but never closed"))).toBe("<open> but never closed");
  expect([read(system), read(image), read()]).toEqual([undefined, undefined, undefined]);
});

it("is shortened, by whole letters", () => {
  const long = read(user("🙂".repeat(500))) ?? "";
  expect([Array.from(long).length, long.endsWith("🙂…")]).toEqual([120, true]);
});

it("takes time that grows with the text alone, however many blocks it begins with", () => {
  expect(read(user(`${"<a></a>".repeat(200_000)}the question`))).toBe("the question");
});
