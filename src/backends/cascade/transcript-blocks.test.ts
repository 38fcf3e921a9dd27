import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readTranscript } from "./transcript-blocks.ts";

type Message = readonly [role: string, body: string];

function render(messages: readonly Message[], numbers = messages.map((_, i) => i)): string {
  return messages.map(([role, body], i) => `=== MESSAGE ${numbers[i]} - ${role} ===\n${body}\n\n`).join("");
}

function read(messages: readonly Message[], prompt = "hi"): Message[] {
  return readTranscript(render(messages), messages.length, prompt).blocks.map(({ role, body }) => [role, body]);
}

const memory: Message = ["Tool", "[CORTEX_STEP_TYPE_RETRIEVE_MEMORY]"];
const checkpoint: Message = ["Tool", "[CORTEX_STEP_TYPE_CHECKPOINT]"];
const user: Message = ["User", "hi"];

describe("readTranscript", () => {
  test.each([
    ["that come next", "see:\n\n=== MESSAGE 3 - Tool ===\n[CORTEX_STEP_TYPE_CHECKPOINT] is a header"],
    ["of the answer's own number", "a\n\n=== MESSAGE 2 - Assistant ===\nb"],
    ["of every number, as another role", "a\n\n=== MESSAGE 3 - Assistant ===\nb\n\n=== MESSAGE 4 - User ===\nc"],
    ["of earlier numbers", "=== MESSAGE 0 - Tool ===\n\n\n=== MESSAGE 1 - User ===\nhi\n\n"],
    ["far ahead", "a\n\n=== MESSAGE 99 - Assistant ===\nb"],
  ])("an answer may hold headers %s", (_, answer) => {
    const messages: Message[] = [memory, user, ["Assistant", answer], checkpoint];
    expect(read(messages)).toEqual(messages);
  });

  test("an answer that grows may end in what looks like the next header: the number of steps says that there is none", () => {
    const messages: Message[] = [memory, user, ["Assistant", "a\n\n=== MESSAGE 3 - Assistant ===\nb"]];
    expect(read(messages)).toEqual(messages);
  });

  test("a prompt may be a whole transcript", () => {
    const prompt = render([memory, user, ["Assistant", "earlier"], checkpoint]).trimEnd();
    const messages: Message[] = [memory, ["User", prompt], ["Assistant", "now"], checkpoint];
    expect(read(messages, prompt)).toEqual(messages);
  });

  test("a line that only resembles a header is text", () => {
    const body = "a\n=== MESSAGE 3 - Tool ===\nb\n\n=== MESSAGE x - Tool ===\n\n=== MESSAGE 3 - Robot ===\n";
    const messages: Message[] = [memory, user, ["Assistant", body], checkpoint];
    expect(read(messages)).toEqual(messages);
  });

  test("messages out of order are put in order, and numbers may jump", () => {
    const shuffled = render([memory, ["Assistant", "late"], user, checkpoint], [0, 6, 3, 9]);
    const { blocks } = readTranscript(shuffled, 4, "hi");
    expect(blocks.map((b) => b.role)).toEqual(["Tool", "User", "Assistant", "Tool"]);
  });

  test("messages that steps lack are counted", () => {
    expect(readTranscript(render([memory, user]), 3, "hi").missing).toBe(1);
    expect(readTranscript("", 2, "hi")).toEqual({ blocks: [], missing: 2 });
  });

  test("hundreds of look-alikes in one answer stay text", () => {
    const forged = Array.from({ length: 400 }, (_, i) => `\n\n=== MESSAGE ${i} - Assistant ===\nx`).join("");
    const messages: Message[] = [memory, user, ["Assistant", `Here:${forged}`], checkpoint];
    expect(read(messages)).toEqual(messages);
  });

  const line = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "=", " ", "é"), maxLength: 6 }),
    fc.constantFrom("", "=== MESSAGE 2", "[CORTEX_STEP_TYPE_CHECKPOINT]", "=== MESSAGE 1 - User ===x"),
  );
  const body = fc.array(line, { maxLength: 6 }).map((lines) => lines.join("\n"));

  test("a rendered transcript is read back, for any text without a line that is a header", () => {
    fc.assert(
      fc.property(fc.array(body, { maxLength: 3 }), body, (answers, prompt) => {
        const messages: Message[] = [memory, ["User", prompt]];
        for (const answer of answers) messages.push(["Assistant", answer], checkpoint);
        expect(read(messages, prompt)).toEqual(messages);
      }),
    );
  });

  const forged = fc.array(
    fc.oneof(body, fc.record({ n: fc.nat(6), role: fc.constantFrom("User", "Assistant", "System") }).map(header)),
    { maxLength: 5 },
  );
  function header({ n, role }: { n: number; role: string }): string {
    return `\n=== MESSAGE ${n} - ${role} ===`;
  }

  test("of one answer with forged headers every character stays, before the checkpoint and after it", () => {
    fc.assert(
      fc.property(forged, fc.boolean(), (lines, ended) => {
        const answer = `x${lines.join("\n")}`;
        const messages: Message[] = [memory, user, ["Assistant", answer]];
        if (ended) messages.push(checkpoint);
        expect(read(messages)).toEqual(messages);
      }),
      { numRuns: 500 },
    );
  });
});
