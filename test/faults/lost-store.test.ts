import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { detailsOf, rawClient, say } from "../../src/gateway/streams/raw-client.fake.ts";
import { temporaryHome } from "../support/home.ts";
import { gateway, model, patience, simulator } from "../support/world.ts";

/** What a client of the original protocol says when it attaches: no intent, no ticket. */
const named = (name: string, key: string) => ({
  "x-idempotency-key": name,
  "x-idempotent-encryption-key": key,
  "x-idempotency-event-id": "0",
});

test("an original client whose message was acknowledged by a lost store gets an error, and does not wait for ever", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, turn: { holdAfter: 10, rate: 2_000, thinking: 0 } });
  const first = await gateway({ home });
  const key = Buffer.alloc(32, 7).toString("base64url");
  const before = rawClient(first).attach("sse", named("lost", key));
  before.send(say.request("write 400 characters", 0, { model }));
  await before.until(({ acks }) => acks.includes(0)); // so it never sends number 0 again
  await ide.until(({ messages }) => messages.length === 1, patience());
  await first.kill();
  const folder = join(home, ".millrace");
  for (const file of readdirSync(folder)) if (file.startsWith("turns.db")) rmSync(join(folder, file));

  const second = await gateway({ home });
  const again = rawClient(second).attach("sse", named("lost", key));
  const late = patience();
  late.addEventListener("abort", () => void again.cut());
  const error = await again.ended;
  expect(late.aborted).toBe(false);
  expect(detailsOf(error).info["code"]).toBe("expired");
  expect((await ide.report()).messages).toHaveLength(1);
});

test("a stream's key is taken in every form of base64", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home });
  const served = await gateway({ home });
  const bytes = Buffer.alloc(32, 0xfb);
  const [url, standard] = [bytes.toString("base64url"), bytes.toString("base64")];
  for (const key of [url, standard, standard.replace("=", ""), `${url}=`]) {
    const attach = rawClient(served).attach("sse", named("one-stream", key));
    attach.send(say.request("count to 3", 0, { model })).endInput();
    expect([key, (await attach.ended)?.message, attach.text]).toEqual([key, undefined, "1, 2, 3"]);
  }
  expect((await ide.report()).messages).toHaveLength(1);
});
