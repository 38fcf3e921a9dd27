import { describe, expect, it } from "vitest";
import type { TurnPlan } from "../faults/turn-plan.ts";
import { modelAnswer } from "./helper.ts";
import type { ModelPrompt } from "./model.ts";

async function ask(text: string, plan: TurnPlan = {}, more: Partial<ModelPrompt> = {}): Promise<string> {
  let answer = "";
  const prompt: ModelPrompt = {
    text,
    asked: text,
    instructions: "Be brief.",
    history: [],
    images: [],
    modelUid: "swe-1-6",
    modelLabel: "SWE-1.6",
    thinks: true,
    outputLimit: undefined,
    plan,
    ...more,
  };
  for (const delta of modelAnswer(prompt)) {
    if (delta.kind === "text") answer += delta.text;
  }
  return answer;
}

describe("the default model", () => {
  it.each([
    ["count to 5", "1, 2, 3, 4, 5"],
    ["Please count from 7 to 9.", "7, 8, 9"],
    ["echo: hello\nworld", "hello\nworld"],
  ])("answers %j", async (question, answer) => {
    expect(await ask(question)).toBe(answer);
  });

  it("knows what it is", async () => {
    expect(await ask("Who are you?")).toMatch(/Millrace simulator, playing SWE-1\.6 \(swe-1-6\)/);
  });

  it("writes text of an exact length", async () => {
    expect(await ask("write 1234 characters of prose")).toHaveLength(1234);
  });

  it("says what kind of image it was shown", async () => {
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const images = [{ mimeType: "image/png", base64: png }];
    expect(await ask("What is in this image?", {}, { images })).toBe("Image 1: image/png, 70 bytes, 1 x 1 pixels.");
    expect(await ask("What is in this image?")).toBe("I see no image.");
  });

  it("recalls the words of the whole conversation that begin as it is told", async () => {
    const history = [
      { role: "user", text: "Say word-one." },
      { role: "assistant", text: "word-two, word-one" },
    ] as const;
    expect(await ask("recall: word-", {}, { history })).toBe("word-one word-two");
    expect(await ask("recall: word-")).toBe("Nothing.");
  });

  it("gives back everything that reached it", async () => {
    const history = [{ role: "user", text: "before" }] as const;
    expect(await ask("echo-prompt now", {}, { history, images: [{ mimeType: "image/png", base64: "AAAA" }] })).toBe(
      [
        "--- instructions ---",
        "Be brief.",
        "--- history user ---",
        "before",
        "--- prompt ---",
        "echo-prompt now",
        "--- image image/png 4 ---",
      ].join("\n"),
    );
  });

  it("says the same thing every time", async () => {
    expect(await ask("something unheard of")).toBe(await ask("something unheard of"));
  });
});
