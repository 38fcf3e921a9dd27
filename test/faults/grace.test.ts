import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { gateway, model, patience, simulator } from "../support/world.ts";

type Target = { readonly url: string; readonly key: string };

/** An API, and a question that takes some seconds to answer. */
const apis = {
  "/v1/chat/completions": (text: string) => ({ messages: [{ role: "user", content: text }] }),
  "/v1/responses": (text: string) => ({ input: text }),
  "/v1/messages": (text: string) => ({ max_tokens: 4_000, messages: [{ role: "user", content: text }] }),
};

/** How the second one asks for another grace time than the first, and what the turn's is then. */
const asks = [
  { headers: { "x-millrace-grace": "10m" }, query: "", graceMs: 600_000 },
  { headers: {}, query: "?grace=10m", graceMs: 600_000 },
  { headers: { "x-millrace-grace": "detach" }, query: "", graceMs: null },
  { headers: {}, query: "?detach=1", graceMs: null },
] as const;

const cases = Object.entries(apis).flatMap(([path, body], api) =>
  asks.map((ask, at) => {
    const text = `[[sim: size=1000 rate=250]] ${path} ${at}`;
    return { path, ask, byKey: (api + at) % 2 === 0, body: { model, stream: true, ...body(text) } };
  }),
);

test("a client that joins a turn extends its grace time, in every API, and also if the gateway is killed", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home });
  const args = ["--continuity", "off"];
  const doomed = await gateway({ home, args });
  const turns = await Promise.all(
    cases.map(async ({ path, ask, byKey, body }) => {
      const key = byKey ? { "idempotency-key": `key of ${JSON.stringify(body)}` } : {};
      const first = await open(doomed, path, body, { ...key, "x-millrace-grace": byKey ? "300ms" : "30s" });
      if (!byKey) first.leave();
      const second = await open(doomed, `${path}${ask.query}`, body, { ...key, ...ask.headers });
      expect(second).toMatchObject({ turnId: first.turnId, joined: byKey ? "key" : "implicit" });
      for (const { leave } of [first, second]) leave();
      return { path, body, key, turnId: second.turnId, graceMs: ask.graceMs };
    }),
  );
  await ide.until(({ messages }) => messages.length === cases.length, patience());
  for (const { turnId, graceMs } of turns) expect(await turnOf(doomed, turnId)).toMatchObject({ grace_ms: graceMs });
  await doomed.kill();

  const served = await gateway({ home, args });
  for (const { turnId, graceMs } of turns) expect(await turnOf(served, turnId)).toMatchObject({ grace_ms: graceMs });
  for (const { path, body, key, turnId, graceMs } of turns) {
    const third = await open(served, path, body, { ...key, "x-millrace-grace": "1s" });
    third.leave();
    expect(third.turnId).toBe(turnId);
    expect(await turnOf(served, turnId)).toMatchObject({ grace_ms: graceMs });
  }
  for (const { turnId } of turns) {
    const isOver = async () => (await turnOf(served, turnId))["status"];
    await expect.poll(isOver, { timeout: 60_000 }).not.toBe("running");
    expect(await isOver()).toBe("finished"); // 300 ms alone would have cancelled most of them
  }
  expect((await ide.report()).messages).toHaveLength(cases.length);
});

/** A streamed answer of which only the head is read. */
async function open({ url, key }: Target, path: string, body: object, headers: Readonly<Record<string, string>>) {
  const client = new AbortController();
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal: client.signal,
  });
  expect(response.status).toBe(200);
  return {
    turnId: response.headers.get("x-millrace-turn") ?? "",
    joined: response.headers.get("x-millrace-joined"),
    leave: () => client.abort(),
  };
}

async function turnOf({ url, key }: Target, turnId: string): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${url}/v1/turns/${turnId}`, { headers: { authorization: `Bearer ${key}` } });
  return (await response.json()) as Readonly<Record<string, unknown>>; // a turn, as docs/http-api.md says
}
