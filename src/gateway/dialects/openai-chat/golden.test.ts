import { describe, expect, it } from "vitest";
import { recordedContext, recordedLog, recordedNames, streamText, wholeAnswerOf } from "../../recorded.fake.ts";
import { openAiChat } from "./encode.ts";

describe("openai-chat, recorded logs", () => {
  it.each(recordedNames)("writes %s as it always did", async (name) => {
    const context = recordedContext({ wire: { includeUsage: true } });
    const log = recordedLog(name);
    await expect(streamText(openAiChat, context, log)).toMatchFileSnapshot(`./fixtures/${name}.sse`);
    const answer = wholeAnswerOf(log);
    if (answer.end?.type !== "finished") return;
    const whole = JSON.stringify(openAiChat.encodeAnswer(context, answer), null, 2);
    await expect(`${whole}\n`).toMatchFileSnapshot(`./fixtures/${name}.answer.json`);
  });
});
