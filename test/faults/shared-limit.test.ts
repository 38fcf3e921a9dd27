import { describe, expect, it } from "vitest";
import type { QueuePlace } from "../../src/turns/queue.ts";
import { millrace } from "../support/gateway-process.ts";
import { ask, openai, patience, patienceMs, world } from "../support/world.ts";

describe("one subscription for several people, with real processes", { timeout: patienceMs }, () => {
  it("runs four turns at once while keys for others work, and any number after the last was revoked", async () => {
    const slow = { simulator: { turn: { rate: 2 } }, args: ["--continuity", "off"] } as const;
    const { home, ide, served } = await world(slow);
    const run = (...args: readonly string[]) => millrace(args, { home });
    const status = async () => JSON.parse((await run("status", "--json")).stdout) as object;
    const keyOf = async (name: string) => (await run("keys", "create", name)).stdout.trim();
    const begin = async (key: string, text: string) => {
      const stream = await openai({ url: served.url, key }).chat.completions.create({ ...ask(text), stream: true });
      return stream.controller;
    };
    const prompts = async () => (await ide.report()).messages.length;
    const told = async (key: string, path: string) => {
      const headers = { authorization: `Bearer ${key}` };
      return (await fetch(`${served.url}/v1/turns${path}`, { headers, signal: patience() })).json();
    };
    const places = async (key: string) => {
      const { data } = (await told(key, "?open=true")) as { readonly data: readonly { readonly id: string }[] };
      const turns = await Promise.all(
        data.map(async ({ id }) => (await told(key, `/${id}`)) as { queue?: QueuePlace }),
      );
      return turns.flatMap(({ queue }) => (queue === undefined ? [] : [queue]));
    };

    expect(await status()).toMatchObject({ gateway: { turn_limit: { most: null, why: "alone" } } });
    const first = await run("keys", "create", "ada");
    expect(first.stderr.replaceAll(/\s+/g, " ")).toContain(
      "While a key for others works, at most 4 turns run at once in one IDE and the others wait, unless you set `serve.max_turns`.",
    );
    const [ada, bob] = [first.stdout.trim(), await keyOf("bob")];
    expect(await status()).toMatchObject({ gateway: { turn_limit: { most: 4, why: "shared" } } });
    const list = await run("keys");
    expect(list.stderr.replaceAll(/\s+/g, " ")).toContain("4 at once in one IDE, because keys for others work");

    const asked = ["one", "two", "three", "four", "five"].map((text) => begin(ada, `count to 200, ${text}`));
    await expect.poll(async () => (await places(ada)).length).toBe(1);
    asked.push(begin(bob, "count to 200, six"));
    await expect.poll(() => places(bob)).toEqual([{ position: 2, of: 2 }]); // who came first is next
    expect(await places(ada)).toEqual([{ position: 1, of: 2 }]);
    await expect.poll(prompts).toBe(4);
    await expect.poll(status).toMatchObject({ gateway: { running: 4, waiting: 2 } });

    for (const name of ["ada", "bob"]) expect(await run("keys", "revoke", name)).toMatchObject({ code: 0 });
    await expect.poll(prompts).toBe(6);
    await expect.poll(status).toMatchObject({
      gateway: { running: 6, waiting: 0, turn_limit: { most: null, why: "alone" } },
    });
    for (const controller of await Promise.all(asked)) controller.abort();
  });
});
