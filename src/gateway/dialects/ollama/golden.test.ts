import { describe, expect, it } from "vitest";
import { recordedContext, recordedLog, recordedNames, wholeAnswerOf } from "../../recorded.fake.ts";
import { ollama } from "./encode.ts";

describe("ollama, recorded logs", () => {
  it.each(recordedNames)("writes %s as it always did", async (name) => {
    const context = recordedContext({ wire: { form: "chat" } });
    const log = recordedLog(name);
    const encoder = ollama.encoder(context);
    const lines = [...encoder.open(), ...log.flatMap((event) => encoder.encode(event))].map(({ data }) => `${data}\n`);
    await expect(lines.join("")).toMatchFileSnapshot(`./fixtures/${name}.ndjson`);
    const answer = wholeAnswerOf(log);
    if (answer.end?.type !== "finished") return;
    const whole = JSON.stringify(ollama.encodeAnswer(context, answer), null, 2);
    await expect(`${whole}\n`).toMatchFileSnapshot(`./fixtures/${name}.answer.json`);
  });
});
