import { expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import { fakeGateway } from "../gateway.fake.ts";
import { SseReader } from "../http/sse.fake.ts";
import { started, text } from "../turn-events.fake.ts";

const failed = { type: "failed", error: new MillraceError("upstream_failed", "It broke.").toRecord() } as const;
const body = { model: "test-model", max_tokens: 9, stream: true, messages: [{ role: "user", content: "Hi" }] };

it("an error comes apart from the text before it, and the cut apart from the error, so that a client has read both", async () => {
  const fake = fakeGateway({ timing: { errorApartMs: 100 } });
  fake.turns.script = () => [started, text("half"), failed];
  const reader = new SseReader(await fake.request("/v1/messages", { json: body }));
  for (const name of ["message_start", "content_block_start", "content_block_delta"])
    expect((await reader.next())?.event).toBe(name);
  const rest = reader.rest();
  let isOver = false;
  void rest.then(() => (isOver = true));
  const after = async (ms: number) => {
    await fake.clock.advance(ms);
    return [reader.bytes.includes("event: error"), isOver];
  };
  expect(await after(99)).toEqual([false, false]);
  expect(await after(1)).toEqual([true, false]);
  expect(await after(99)).toEqual([true, false]);
  await fake.clock.advance(1);
  expect((await rest).at(-1)?.event).toBe("error");
  expect(reader.isCut).toBe(true);
});
