import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startGateway } from "../../src/cli/compose/start-gateway.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, collect, openai, patienceMs, simulator } from "../support/world.ts";

/** More than the sockets on its way hold. */
const size = 8_000_000;

test.each(["SQLite", "memory"])(
  "an answer whose retention passes while its client reads it, over %s: it gets all, a repeat by key is told so, and nothing is asked again",
  { timeout: 2 * patienceMs },
  async (store) => {
    const home = temporaryHome();
    const ide = await simulator({ home, turn: { rate: "instant", size, thinking: 0 } });
    const served = await startGateway({
      retentionMs: 1_000,
      homeFolder: home,
      env: { HOME: home, MILLRACE_IDE_ONLY_HOME: home },
      ...(store === "SQLite" && { storeFile: join(home, "turns.db") }),
    });
    onTestFinished(() => served.close());
    const client = openai(served);
    const headers = { "idempotency-key": "slowly" };
    const question = { ...ask("write"), stream: true } as const;
    const { data: slow, response } = await client.chat.completions.create(question, { headers }).withResponse();
    const reading = slow[Symbol.asyncIterator]();
    let text = "";
    const next = async () => {
      const { value, done } = await reading.next();
      if (done !== true) text += value.choices[0]?.delta.content ?? "";
      return done !== true;
    };
    for (let more = true; more && text === ""; ) more = await next();
    const turn = `${served.url}/v1/turns/${response.headers.get("x-millrace-turn") ?? ""}`;
    const look = async () => (await fetch(turn, { headers: { authorization: `Bearer ${served.key}` } })).status;
    await expect.poll(look, { timeout: patienceMs, interval: 500 }).toBe(410);
    const again = client.chat.completions.create(question, { headers }).then(collect);
    await expect(again).rejects.toMatchObject({ code: "expired" });
    while (await next());
    expect(text).toHaveLength(size);
    expect((await ide.report()).messages).toHaveLength(1);
  },
);
