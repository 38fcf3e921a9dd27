import { describe, expect, it } from "vitest";
import { recordedContext, recordedLog, recordedNames, streamText, wholeAnswerOf } from "../../recorded.fake.ts";
import { anthropicMessages } from "./encode.ts";

describe("anthropic-messages, recorded logs", () => {
  it.each(recordedNames)("writes %s as it always did", async (name) => {
    const context = recordedContext({ wire: { model: "test-model" } });
    const log = recordedLog(name);
    await expect(streamText(anthropicMessages, context, log)).toMatchFileSnapshot(`./fixtures/${name}.sse`);
    const answer = wholeAnswerOf(log);
    if (answer.end?.type !== "finished") return;
    const whole = JSON.stringify(anthropicMessages.encodeAnswer(context, answer), null, 2);
    await expect(`${whole}\n`).toMatchFileSnapshot(`./fixtures/${name}.answer.json`);
  });
});
