import { readFileSync } from "node:fs";
import { platform } from "node:os";
import { describe, expect, test } from "vitest";
import { clientProcess } from "../support/frozen-client.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { gateway, model, patience, patienceMs, sharedWorld } from "../support/world.ts";

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

async function get(path: string, { url, key }: GatewayProcess): Promise<string> {
  return (await fetch(url + path, { headers: { authorization: `Bearer ${key}` }, signal: patience() })).text();
}

interface Shown {
  readonly status: string;
  readonly delivered: boolean;
}

async function newestTurn(served: GatewayProcess): Promise<Shown | undefined> {
  return (JSON.parse(await get("/v1/turns?limit=1", served)) as { data: Shown[] }).data[0];
}

/** Resolves once the operating system has the whole answer. */
async function untilHandedOver(served: GatewayProcess): Promise<void> {
  await expect.poll(async () => (await newestTurn(served))?.status, { timeout: patienceMs }).toBe("finished");
  await expect.poll(() => get("/metrics", served), { timeout: patienceMs }).toMatch(/^millrace_streams_open 0$/m);
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
async function frozenClient(path: string, body: object, text: string, served = world().served) {
  const { ide } = world();
  const client = clientProcess({ url: served.url, key: served.key, path, body });
  const streams = "stream" in body;
  await (streams ? client.reading : client.sent);
  await untilPrompts(text, 1);
  client.freeze();
  await ide.release();
  await untilHandedOver(served);
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
      expect(await newestTurn(world().served)).toMatchObject({ delivered: false });
      expect((await ask(world().served, path, body(text))).joined).toBe("implicit");
      expect(await prompts(text)).toBe(1);
      await client.kill();
    });
  },
);

test.skipIf(platform() !== "linux")(
  "a client that stays frozen until the gateway closes its idle connection is given its answer when it asks again",
  async () => {
    const env = { MILLRACE_IDLE_SECONDS: "1" };
    const served = await gateway({ home: world().ide.home, args: ["--continuity", "off"], env });
    const text = "[[sim: size=300 hold-after=60]] closed by the gateway.";
    const path = "/v1/chat/completions";
    const body = { model, stream: true, messages: messages(text) };
    const client = await frozenClient(path, body, text, served);
    await expect.poll(() => endsClosedBy(served), { timeout: patienceMs }).toBe(1);
    await client.kill();
    const again = ask(served, path, body);
    await Promise.race([again, untilPrompts(text, 2)]);
    expect(await prompts(text)).toBe(1);
    expect((await again).joined).toBe("implicit");
  },
);

/** How many clients of the gateway have been told that it closed their connection, and have not closed their end. */
function endsClosedBy({ url }: GatewayProcess): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, "0");
  const closeWait = new RegExp(`^\\s*\\d+: \\w+:\\w+ \\w+:${port} 08 `, "gm");
  return readFileSync("/proc/net/tcp", "utf8").match(closeWait)?.length ?? 0;
}
