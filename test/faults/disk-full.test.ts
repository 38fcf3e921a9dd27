import { randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { mayMount, smallDisk } from "../support/small-disk.ts";
import { ask, collect, degradedGauge, gateway, openai, patience, patienceMs, simulator } from "../support/world.ts";

/** Mounting needs a right that not every user has: a reason to skip. The unit tests use a medium that fails on demand. */
test.skipIf(!mayMount)("a full disk loses no answer, is reported, and is used again once it has room", async () => {
  const home = temporaryHome();
  const disk = smallDisk(16);
  await simulator({ home, turn: { rate: 800, size: 800 } });
  const env = { MILLRACE_HOME: join(disk.folder, "data") };
  const args = ["--continuity", "off"];
  const first = await gateway({ home, env, args });
  const asked = async (question: string, key: string, target = first) => {
    const headers = { "idempotency-key": key };
    const { data, response } = await openai(target)
      .chat.completions.create(ask(question), { headers, maxRetries: 0 })
      .withResponse();
    const header = (name: string) => response.headers.get(`x-millrace-${name}`);
    return {
      text: data.choices[0]?.message.content ?? "",
      turn: header("turn"),
      degraded: header("degraded"),
      header,
    };
  };
  const before = await asked("write", "with room");
  expect([before.text.length, before.degraded]).toEqual([800, "false"]);

  const stream = await openai(first).chat.completions.create(
    { ...ask("write"), stream: true },
    { headers: { "idempotency-key": "as it fills" } },
  );
  let text = "";
  for await (const chunk of stream) {
    if (text === "") disk.fill();
    text += chunk.choices[0]?.delta.content ?? "";
  }
  expect(text).toBe(before.text);
  await expect(asked("write", "without room")).rejects.toMatchObject({ status: 503, code: "unavailable" });
  const without = await openai(first).chat.completions.create(ask("write, without a key"));
  expect(without.choices[0]?.message.content).toBe(before.text);
  const health = await fetch(`${first.url}/health`, { headers: { authorization: `Bearer ${first.key}` } });
  expect(health.status).toBe(200);

  expect(await degradedGauge(first)).toBe(1);
  const chat = await millrace(["chat", '[[sim: text="ok" rate=instant]]'], { home, env });
  expect(chat).toMatchObject({ code: 0, stdout: "ok\n", stderr: expect.stringContaining("this answer is lost too") });
  const told = async (...words: readonly string[]) => (await millrace(words, { home, env })).stdout;
  expect(await told("status")).toMatch(
    /^store {8}New answers are in memory only\. The log's file has no room left\. Free disk space/m,
  );
  expect(JSON.parse(await told("status", "--json"))).toMatchObject({
    gateway: { store_problem: { what: "The log's file has no room left." } },
  });
  expect(await told("doctor")).toContain("✗ Its log: The log's file has no room left");

  disk.free();
  await expect.poll(() => degradedGauge(first), { timeout: patienceMs }).toBe(0); // without any turn
  expect(JSON.parse(await told("status", "--json"))).toMatchObject({ gateway: { store_problem: null } });
  expect((await asked('[[sim: text="ok" rate=instant]]', randomUUID())).degraded).toBe("false");
  await first.kill();

  const second = await gateway({ home, env, args });
  const again = await asked("write", "with room", second);
  expect([again.text, again.turn, again.header("joined")]).toEqual([before.text, before.turn, "key"]);
  const streamed = await openai(second).chat.completions.create(
    { ...ask("write"), stream: true },
    { headers: { "idempotency-key": "as it fills" } },
  );
  expect(await collect(streamed)).toEqual({ text: before.text, reason: "stop" });
});

test.skipIf(!mayMount)(
  "a gateway that starts on a full disk answers what has no key, is found by other commands once there is room, and leaves nothing else",
  async () => {
    const home = temporaryHome();
    const disk = smallDisk(16);
    await simulator({ home, turn: { rate: 800, size: 800 } });
    const folder = join(disk.folder, "data");
    const env = { MILLRACE_HOME: folder };
    expect((await millrace(["keys"], { home, env })).code).toBe(0);
    disk.fill();
    const first = await gateway({ home, env });
    const { response } = await openai(first).chat.completions.create(ask("write")).withResponse();
    expect(response.headers.get("x-millrace-degraded")).toBe("true");
    await expect.poll(() => first.log(), { timeout: 30_000 }).toContain("gateway.json cannot be written");
    expect(readdirSync(folder).filter((name) => /[0-9a-f]{12}$/.test(name))).toEqual([]);

    disk.free();
    await expect.poll(() => degradedGauge(first), { timeout: 30_000 }).toBe(0);
    await expect.poll(() => existsSync(join(folder, "gateway.json")), { timeout: 30_000 }).toBe(true);
  },
);

test.skipIf(!mayMount)(
  "a request without a key whose store fails between its row and its conversation is prompted by no other gateway unasked",
  async () => {
    const home = temporaryHome();
    const disk = smallDisk(16);
    const ide = await simulator({ home, turn: { rate: 20, size: 2_000 } });
    const env = { MILLRACE_HOME: join(disk.folder, "data") };
    const args = ["--continuity", "off", "--grace", "1s"];
    const first = await gateway({ home, env, args });
    const prompts = ({ messages }: { readonly messages: readonly { readonly text: string }[] }) =>
      messages.filter(({ text }) => text.includes("write once"));
    const statuses = async ({ url, key }: typeof first) => {
      const answer = await fetch(`${url}/v1/turns`, { headers: { authorization: `Bearer ${key}` } });
      const { data } = (await answer.json()) as { readonly data: readonly { readonly status: string }[] };
      return data.map(({ status }) => status);
    };
    await ide.until(({ calls }) => (calls["StartCascade"] ?? 0) >= 1, patience()); // it has asked what the IDE can do
    await ide.setFaults([{ rpc: "StartCascade", times: 1, delayMs: 2_000 }]);
    const asked = openai(first)
      .chat.completions.create(ask("write once"), { maxRetries: 0 })
      .catch(() => {});
    await expect.poll(() => statuses(first), { timeout: patienceMs }).toEqual(["running"]);
    disk.fill();
    await ide.until((report) => prompts(report).length === 1, patience());
    expect(await degradedGauge(first)).toBe(1);
    await first.kill();
    await asked;
    disk.free();

    const second = await gateway({ home, env, args });
    await expect.poll(() => statuses(second), { timeout: patienceMs }).toEqual(["cancelled"]); // nobody asked for it again
    expect(prompts(await ide.report())).toHaveLength(1);
  },
);
