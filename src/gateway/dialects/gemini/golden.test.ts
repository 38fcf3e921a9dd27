import { describe, expect, it } from "vitest";
import { recordedContext, recordedLog, recordedNames, streamText, wholeAnswerOf } from "../../recorded.fake.ts";
import { gemini, geminiArray } from "./encode.ts";

const wire = { includeThoughts: true };

describe("gemini, recorded logs", () => {
  it.each(recordedNames)("writes %s as it always did", async (name) => {
    const context = recordedContext({ wire });
    const log = recordedLog(name);
    await expect(streamText(gemini, context, log)).toMatchFileSnapshot(`./fixtures/${name}.sse`);
    const answer = wholeAnswerOf(log);
    if (answer.end?.type !== "finished") return;
    const whole = JSON.stringify(gemini.encodeAnswer(context, answer), null, 2);
    await expect(`${whole}\n`).toMatchFileSnapshot(`./fixtures/${name}.answer.json`);
  });

  it.each(recordedNames)("writes %s as one array that has the same chunks, whole only with its end", (name) => {
    const context = recordedContext({ wire });
    const log = recordedLog(name);
    const encoder = geminiArray.encoder(context);
    const events = [...encoder.open(), ...encoder.heartbeat(), ...log.flatMap((event) => encoder.encode(event))];
    const array = events.map(({ data }) => `${data}\n`).join("");
    const chunks = streamText(gemini, context, log)
      .split("\n\n")
      .filter((event) => event !== "");
    const end = log.at(-1)?.type === "finished" ? "" : "]";
    const read = JSON.parse(array + end) as unknown[]; // it cannot be read where it has two ends, or none
    expect(read.slice(1)).toEqual(chunks.map((event) => JSON.parse(event.replace("data: ", "")) as unknown));
  });
});
