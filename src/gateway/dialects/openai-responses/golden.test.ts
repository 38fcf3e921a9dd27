import { describe, expect, it } from "vitest";
import { recordedContext, recordedLog, recordedNames, streamText, wholeAnswerOf } from "../../recorded.fake.ts";
import { openAiResponses } from "./encode.ts";

describe("openai-responses, recorded logs", () => {
  it.each(recordedNames)("writes %s as it always did", async (name) => {
    const context = recordedContext({
      wire: { store: true, background: false, previousResponseId: null, ownFrom: 0, namespaced: {}, echo: {} },
    });
    const log = recordedLog(name);
    await expect(streamText(openAiResponses, context, log)).toMatchFileSnapshot(`./fixtures/${name}.sse`);
    const answer = wholeAnswerOf(log);
    if (answer.end?.type !== "finished") return;
    const whole = JSON.stringify(openAiResponses.encodeAnswer(context, answer), null, 2);
    await expect(`${whole}\n`).toMatchFileSnapshot(`./fixtures/${name}.answer.json`);
  });
});
