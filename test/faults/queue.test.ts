import { describe, expect, it } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { ask, gateway, model, openai, patience, patienceMs, world } from "../support/world.ts";

const longAnswer = { simulator: { turn: { rate: 30 } }, args: ["--max-turns", "1", "--continuity", "off"] } as const;

interface TurnList {
  readonly data: readonly { readonly id: string; readonly queue?: { readonly position: number } }[];
}

describe("the user's own limits, with real processes", { timeout: patienceMs }, () => {
  it("send no prompt of a client that gave up in the queue, after a restart", async () => {
    const { home, ide, client, served } = await world({ ...longAnswer, simulator: { turn: { rate: 30 } } });
    const first = await client.chat.completions.create({
      ...ask("[[sim: hold-after=20]] count to 40"),
      stream: true,
    });
    await first[Symbol.asyncIterator]().next(); // the first turn runs
    const headers = {
      authorization: `Bearer ${served.key}`,
      "content-type": "application/json",
      "x-millrace-grace": "10",
    };
    const turns = async (target: { readonly url: string }): Promise<TurnList> =>
      (await (await fetch(`${target.url}/v1/turns?open=true`, { headers, signal: patience() })).json()) as TurnList;
    const leaving = new AbortController();
    const bodies = {
      "/v1/chat/completions": { ...ask("gave up"), stream: true },
      "/v1/messages": { ...ask("gave up too"), max_tokens: 99 },
      "/v1/responses": { model, input: "gave up as well", stream: true },
    };
    for (const [path, body] of Object.entries(bodies))
      fetch(served.url + path, { method: "POST", headers, body: JSON.stringify(body), signal: leaving.signal }).catch(
        () => undefined, // it is meant to leave
      );
    while ((await turns(served)).data.length < 4) continue;
    leaving.abort();
    await served.kill();
    const again = await gateway({ home, args: ["--max-turns", "1", "--continuity", "off"] });
    await ide.release();
    const answer = await openai(again).chat.completions.create(ask("count to 3"));
    expect(answer.choices[0]?.finish_reason).toBe("stop");
    while ((await turns(again)).data.length > 0) continue; // to the end of the grace of those that wait
    expect((await ide.report()).messages.map(({ text }) => text)).toEqual([
      expect.stringContaining("count to 40"),
      expect.stringContaining("count to 3"),
    ]);
  });

  it("pause at once and over a restart: no new prompt is sent, what runs continues", async () => {
    const { home, ide, client, served } = await world({ simulator: { turn: { rate: 30 } } });
    const first = await client.chat.completions.create({ ...ask("count to 20"), stream: true });
    const chunks = first[Symbol.asyncIterator]();
    await chunks.next();
    expect(await millrace(["pause"], { home })).toMatchObject({ code: 0 });
    await expect(client.chat.completions.create(ask("not now"))).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining("Millrace is paused by its owner"),
    });
    let reason: string | null | undefined;
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next())
      reason = next.value.choices[0]?.finish_reason ?? reason;
    expect(reason).toBe("stop");
    await served.stop();
    const again = await gateway({ home });
    const health = await fetch(`${again.url}/health`, { headers: { authorization: `Bearer ${again.key}` } });
    expect(await health.json()).toMatchObject({ paused: { since: expect.stringMatching(/^\d{4}-/) } });
    await expect(openai(again).chat.completions.create(ask("still not"))).rejects.toMatchObject({ status: 503 });
    expect((await ide.report()).messages).toHaveLength(1);
    expect(await millrace(["resume"], { home })).toMatchObject({ code: 0 });
    const answer = await openai(again).chat.completions.create({ ...ask("now"), model });
    expect(answer.choices[0]?.finish_reason).toBe("stop");
    expect(
      await (await fetch(`${again.url}/health`, { headers: { authorization: `Bearer ${again.key}` } })).json(),
    ).toMatchObject({ paused: null });
  });
});
