import { platform } from "node:os";
import { describe, expect, test } from "vitest";
import { clientProcess } from "../support/frozen-client.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { model, patience, patienceMs, sharedWorld } from "../support/world.ts";

const rounds = 8;
const world = sharedWorld(["--continuity", "off"]);

const messages = (content: string) => [{ role: "user", content }];
const requests: readonly { readonly how: string; readonly path: string; readonly body: (text: string) => object }[] = [
  {
    how: "Chat Completions, streamed",
    path: "/v1/chat/completions",
    body: (text) => ({ model, stream: true, messages: messages(text) }),
  },
  { how: "Chat Completions", path: "/v1/chat/completions", body: (text) => ({ model, messages: messages(text) }) },
  { how: "Responses, streamed", path: "/v1/responses", body: (input) => ({ model, stream: true, input }) },
  {
    how: "Messages, streamed",
    path: "/v1/messages",
    body: (text) => ({ model, stream: true, max_tokens: 999, messages: messages(text) }),
  },
];

async function get(path: string): Promise<string> {
  const { url, key } = world().served;
  return (await fetch(url + path, { headers: { authorization: `Bearer ${key}` }, signal: patience() })).text();
}

interface Shown {
  readonly status: string;
  readonly delivered: boolean;
}

async function newestTurn(): Promise<Shown | undefined> {
  return (JSON.parse(await get("/v1/turns?limit=1")) as { data: Shown[] }).data[0];
}

/** Resolves once the operating system has the whole answer. */
async function untilHandedOver(): Promise<void> {
  await expect.poll(async () => (await newestTurn())?.status, { timeout: patienceMs }).toBe("finished");
  await expect.poll(() => get("/metrics"), { timeout: patienceMs }).toMatch(/^millrace_streams_open 0$/m);
}

async function prompts(text: string): Promise<number> {
  return (await world().ide.report()).messages.filter((message) => message.text.includes(text)).length;
}

async function untilPrompts(text: string, count: number): Promise<void> {
  const isThere = (all: readonly { readonly text: string }[]) =>
    all.filter((one) => one.text.includes(text)).length >= count;
  await world().ide.until(({ messages: all }) => isThere(all), patience());
}

async function ask({ url, key }: GatewayProcess, path: string, body: object) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body), signal: patience() });
  return {
    joined: response.headers.get("x-millrace-joined"),
    turn: response.headers.get("x-millrace-turn"),
    text: await response.text(),
  };
}

/** A client that is frozen in the middle of its answer, which then ends. */
async function frozenClient(path: string, body: object, text: string) {
  const { ide, served } = world();
  const client = clientProcess({ url: served.url, key: served.key, path, body });
  const streams = "stream" in body;
  await (streams ? client.reading : client.sent);
  await untilPrompts(text, 1);
  client.freeze();
  await ide.release();
  await untilHandedOver();
  return client;
}

// elsewhere the kernel does not tell what a client has read
describe.skipIf(platform() !== "linux").each(requests)(
  "$how: a client that is frozen while its answer ends",
  ({ how, path, body }) => {
    const question = (what: string) => `[[sim: size=300 hold-after=60]] ${how} ${what}`;

    test(`and killed is given that answer when it asks again, ${rounds} times of ${rounds}`, {
      timeout: patienceMs,
    }, async () => {
      for (let round = 1; round <= rounds; round++) {
        const text = question(`killed ${round}.`);
        const client = await frozenClient(path, body(text), text);
        await client.kill();
        const again = ask(world().served, path, body(text));
        await Promise.race([again, untilPrompts(text, 2)]);
        expect([round, await prompts(text)]).toEqual([round, 1]);
        expect((await again).joined).toBe("implicit");
        // this one read it: a person who asks once more wants another answer
        const more = ask(world().served, path, body(text));
        await untilPrompts(text, 2);
        await world().ide.release();
        expect((await more).joined).toBe("no");
      }
    });

    test("and stays so does not count as one that has its answer", async () => {
      const text = question("frozen.");
      const client = await frozenClient(path, body(text), text);
      expect(await newestTurn()).toMatchObject({ delivered: false });
      expect((await ask(world().served, path, body(text))).joined).toBe("implicit");
      expect(await prompts(text)).toBe(1);
      await client.kill();
    });
  },
);
