import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, model, openai, patience, patienceMs, world } from "../support/world.ts";

/** A turn's summary has the tokens of its end once the history has it. */
async function untilRecorded(
  url: string,
  key: string,
  turns: number,
): Promise<readonly { key: string; turns: number }[]> {
  const signal = patience();
  for (;;) {
    const answer = await fetch(`${url}/v1/usage?by=key`, { headers: { authorization: `Bearer ${key}` }, signal });
    const { data } = (await answer.json()) as { readonly data: readonly { key: string; turns: number }[] };
    if (data.reduce((sum, row) => sum + row.turns, 0) >= turns) return data;
  }
}

/** A path of every API, the stream protocol too. */
const paths: readonly (readonly [string, Readonly<Record<string, string>>?])[] = [
  ["/v1/chat/completions"],
  ["/v1/completions"],
  ["/v1/responses"],
  ["/v1/messages"],
  ["/v1/models", { "anthropic-version": "2023-06-01" }],
  ["/api/chat"],
  ["/aiserver.v1.ChatService/StreamUnifiedChatWithToolsPoll"],
];

describe("keys for others, with real processes", { timeout: patienceMs }, () => {
  it("open a running gateway within their limits, survive its restart, and end when they are revoked", async () => {
    const { home, served, ide } = await world({ args: ["--log-level", "info"] });
    const create = await millrace(["keys", "create", "ci", "--model", model, "--turns-per-day", "2"], { home });
    expect(create).toMatchObject({ code: 0 });
    const key = create.stdout.trim();
    expect(readFileSync(join(home, ".millrace/keys.json"), "utf8")).not.toContain(key);

    const first = await openai({ url: served.url, key }).chat.completions.create(ask("one")).withResponse();
    const turnId = first.response.headers.get("x-millrace-turn") ?? "";
    const refused = async (path: string, body: object, at = served) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const answer = await fetch(`${at.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      return { status: answer.status, text: await answer.text() };
    };
    expect(await refused("/v1/chat/completions", { ...ask("x"), model: "gpt-5.2" })).toMatchObject({
      status: 403,
      text: expect.stringContaining("The key ci may not use the model"),
    });

    const owners = await openai(served).chat.completions.create(ask("the owner's")).withResponse();
    const ownersTurn = owners.response.headers.get("x-millrace-turn") ?? "";
    const seen = await fetch(`${served.url}/v1/turns/${ownersTurn}`, { headers: { authorization: `Bearer ${key}` } });
    expect(seen.status).toBe(404);
    const summary = await fetch(`${served.url}/dashboard/api/turns/${turnId}/summary`, {
      headers: { authorization: `Bearer ${served.key}` },
    });
    expect(await summary.json()).toMatchObject({ key: "ci" });
    expect(served.log()).toContain('"caller":"ci"');
    const used = await untilRecorded(served.url, served.key, 2);
    expect(new Map(used.map((row) => [row.key, row.turns]))).toEqual(
      new Map([
        ["ci", 1],
        ["owner", 1],
      ]),
    );

    const told = async (path: string, init: RequestInit = {}) => {
      const headers = { authorization: `Bearer ${served.key}`, "content-type": "application/json" };
      return (await fetch(`${served.url}${path}`, { headers, ...init })).json();
    };
    const keys = await told("/dashboard/api/keys");
    expect(keys).toMatchObject({
      data: [{ name: "ci", state: "works", models: [model], running: 0, turns_per_day: { most: 2, used: 1 } }],
    });
    expect(JSON.stringify(keys)).not.toContain(key);
    const { data: models } = (await told("/dashboard/api/models")) as {
      readonly data: readonly { readonly name: string; readonly last_used_at: string | null }[];
    };
    expect(models.find(({ name }) => name === model)?.last_used_at).toMatch(/^\d{4}-/);
    await served.stop();
    const again = await gateway({ home });
    await openai({ url: again.url, key }).chat.completions.create(ask("two"));
    const prompts = (await ide.report()).messages;
    const exhausted = await refused("/v1/chat/completions", ask("three"), again);
    expect(exhausted.status).toBe(429);
    expect(exhausted.text).toContain("The key ci has used its 2 turns for today.");
    expect(exhausted.text).toMatch(/start turns again at \d{4}-\d\d-\d\dT/);
    expect((await ide.report()).messages).toEqual(prompts);

    expect((await millrace(["keys", "revoke", "ci"], { home })).code).toBe(0);
    expect((await refused("/v1/chat/completions", ask("four"), again)).status).toBe(401);
    const list = await millrace(["keys", "--all", "--json"], { home });
    expect(JSON.parse(list.stdout)).toMatchObject({ data: [{ name: "ci", state: "revoked", turns_per_day: 2 }] });
    expect(list.stdout).not.toMatch(/hash|salt/);
  });

  it("say in every API why they open nothing, and what their program's person does next", async () => {
    const { home, served } = await world();
    const make = async (...args: string[]) => (await millrace(["keys", "create", ...args], { home })).stdout.trim();
    const [revoked, expired, works] = [await make("gone"), await make("over"), await make("ci")];
    expect((await millrace(["keys", "revoke", "gone"], { home })).code).toBe(0);
    const file = join(home, ".millrace/keys.json");
    const { keys, ...rest } = JSON.parse(readFileSync(file, "utf8")) as { readonly keys: { name: string }[] };
    const ended = keys.map((key) => (key.name === "over" ? { ...key, expiresAtMs: 1_000_000 } : key));
    writeFileSync(file, JSON.stringify({ ...rest, keys: ended }));
    const another = temporaryHome();
    const foreign = (await millrace(["keys", "create", "ci"], { home: another })).stdout.trim();
    const saysOf = async (key: string) => {
      const answers = paths.map(async ([path, headers = {}]) => {
        const sent = { "x-api-key": key, "content-type": "application/json", ...headers };
        const answer = await fetch(served.url + path, { method: "POST", headers: sent, body: "{}" });
        return [path, answer.status, await answer.text()] as const;
      });
      return Promise.all(answers);
    };
    const kinds: readonly (readonly [string, RegExp])[] = [
      [revoked, /The key gone was revoked at 20.*Ask the owner of this gateway/],
      [expired, /The key over expired at 1970.*millrace keys revoke over.*millrace keys create over/],
      [foreign, /does not know the key.*another home.*Ask the owner of this gateway/],
      [works.slice(0, -1), /is not whole/],
      ["sk-of-another-vendor", /does not know the key.*millrace keys --value/],
      ["", /has no key.*millrace keys --value/],
    ];
    for (const [key, sentence] of kinds)
      for (const [path, status, text] of await saysOf(key))
        expect([path, status, text]).toEqual([path, 401, expect.stringMatching(sentence)]);

    const replaced = served.key;
    expect((await millrace(["keys", "--new"], { home })).code).toBe(0);
    for (const [path, , text] of await saysOf(replaced))
      expect([path, text]).toEqual([path, expect.stringMatching(/was replaced/)]);
    writeFileSync(file, "{");
    for (const [path, , text] of await saysOf(works))
      expect([path, text]).toEqual([path, expect.stringMatching(/cannot read its list of keys/)]);
  });

  it("are not for a Claude Code that a variable or a project leads to another server", async () => {
    const { home, served } = await world();
    const printed = (env: Readonly<Record<string, string>>) =>
      millrace(["keys", "--value", "--for", "claude-code", "--at", served.url], { home, env });
    const env = { MILLRACE_IDE_ONLY_HOME: home };
    expect((await millrace(["setup", "claude-code", "--yes"], { home, env })).code).toBe(0);
    const key = readFileSync(join(home, ".millrace/setup/claude-code.key"), "utf8");
    rmSync(join(home, ".claude"), { recursive: true }); // what it says there wins over the environment
    expect((await printed({ ANTHROPIC_BASE_URL: served.url })).stdout.trim()).toBe(key);
    // the client's key, which only it has: its turns are those of `run claude-code`
    const asked = await openai({ url: served.url, key }).chat.completions.create(ask("hello")).withResponse();
    const turn = asked.response.headers.get("x-millrace-turn") ?? "";
    const summary = await fetch(`${served.url}/dashboard/api/turns/${turn}/summary`, {
      headers: { authorization: `Bearer ${served.key}` },
    });
    expect(await summary.json()).toMatchObject({ key: "claude-code" });
    const { code, stdout, stderr } = await printed({ ANTHROPIC_BASE_URL: "https://other.example" });
    expect([code, stdout]).toEqual([64, ""]);
    expect(stderr).toContain("ANTHROPIC_BASE_URL leads it to another server");
    expect((await millrace(["setup", "claude-code", "--undo", "--yes"], { home, env })).code).toBe(0);
    const gone = await fetch(`${served.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    expect(gone.status).toBe(401);
  });
});
