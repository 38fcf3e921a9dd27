import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startGateway } from "../../src/cli/compose/start-gateway.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, collect, openai, patienceMs, simulator } from "../support/world.ts";

/** More than the sockets on its way hold. */
const size = 8_000_000;

test.each(["SQLite", "memory"])(
  "an answer whose retention passes while its client reads it, over %s: it gets all, or is told that it expired, as its key is; nothing is asked again",
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
    const next = async () => {
      const { value, done } = await reading.next();
      return done === true ? undefined : (value.choices[0]?.delta.content ?? "");
    };
    let text = "";
    for (let piece = await next(); piece !== undefined; piece = await next()) {
      text += piece;
      if (piece !== "") break;
    }
    const turn = `${served.url}/v1/turns/${response.headers.get("x-millrace-turn") ?? ""}`;
    const look = async () => (await fetch(turn, { headers: { authorization: `Bearer ${served.key}` } })).status;
    await expect.poll(look, { timeout: patienceMs, interval: 500 }).toBe(410);
    const again = client.chat.completions.create(question, { headers }).then(collect);
    await expect(again).rejects.toMatchObject({ code: "expired" });
    const failure = await (async () => {
      for (let piece = await next(); piece !== undefined; piece = await next()) text += piece;
    })().catch((error: unknown) => (error as { readonly code?: unknown }).code);
    expect(failure === "expired" || (failure === undefined && text.length === size)).toBe(true);
    expect((await ide.report()).messages).toHaveLength(1);
  },
);
