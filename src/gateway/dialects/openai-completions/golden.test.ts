import { describe, expect, it } from "vitest";
import { recordedContext, recordedLog, recordedNames, streamText, wholeAnswerOf } from "../../recorded.fake.ts";
import { openAiCompletions } from "./dialect.ts";

describe("openai-completions, recorded logs", () => {
  it.each(recordedNames)("writes %s as it always did", async (name) => {
    const context = recordedContext({ wire: { includeUsage: true } });
    const log = recordedLog(name);
    await expect(streamText(openAiCompletions, context, log)).toMatchFileSnapshot(`./fixtures/${name}.sse`);
    const answer = wholeAnswerOf(log);
    if (answer.end?.type !== "finished") return;
    const whole = JSON.stringify(openAiCompletions.encodeAnswer(context, answer), null, 2);
    await expect(`${whole}\n`).toMatchFileSnapshot(`./fixtures/${name}.answer.json`);
  });
});
