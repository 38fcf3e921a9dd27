import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { redisInstalled, redisServer } from "../support/redis.ts";
import { sharedStore } from "../support/shared-store.ts";
import { ask, gateway, openai, simulator } from "../support/world.ts";

type Change = "caller" | "expiry" | "owner";
type Row = { readonly id: string; readonly other: string };

const secret = "a secret answer";
const later = Date.now() + 30 * 24 * 3_600_000;

/** A turn of the owner's key and one of another key; then a column of the first is changed while no gateway runs. */
async function changed(
  env: (home: string) => Readonly<Record<string, string>>,
  change: (row: Row, home: string) => void,
) {
  const home = temporaryHome();
  await simulator({ home });
  const args = ["--continuity", "off"];
  const first = await gateway({ home, args, env: env(home) });
  const stranger = (await millrace(["keys", "create", "other"], { home, env: env(home) })).stdout.trim();
  const id = await answered(first, `[[sim: text="${secret}"]]`);
  const other = await answered({ ...first, key: stranger }, "something else");
  expect(await shown(first, id)).toContain(secret);
  expect(await shown({ ...first, key: stranger }, id)).not.toContain(secret);
  await first.stop();
  change({ id, other }, home);
  const second = await gateway({ home, args, env: env(home) });
  return { owner: await shown(second, id), stranger: await shown({ ...second, key: stranger }, id) };
}

async function answered(target: GatewayProcess, text: string): Promise<string> {
  const { response } = await openai(target).chat.completions.create(ask(text)).withResponse();
  return response.headers.get("x-millrace-turn") ?? "";
}

/** All that one key is shown of a turn. */
async function shown({ url, key }: Pick<GatewayProcess, "url" | "key">, turn: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  const paths = [`/v1/turns/${turn}`, `/v1/turns/${turn}/events`];
  const answers = await Promise.all(paths.map((path) => fetch(url + path, { headers })));
  return (await Promise.all(answers.map(async (answer) => `${answer.status} ${await answer.text()}`))).join("\n");
}

const damaged = /changed or damaged/;

test.each<Change>(["caller", "expiry", "owner"])(
  "a turn whose %s was changed in the file is damaged, and neither its own key nor another one reads it",
  async (what) => {
    const { owner, stranger } = await changed(
      () => ({}),
      ({ id, other }, home) => {
        const file = new DatabaseSync(join(home, ".millrace/turns.db"));
        const set = {
          caller: `meta = json_set(meta, '$.caller', (SELECT json_extract(meta, '$.caller') FROM logs WHERE id = '${other}'))`,
          expiry: `expires_at_ms = ${later}`,
          owner: "owner = 'another process'",
        };
        expect(file.prepare(`UPDATE logs SET ${set[what]} WHERE id = '${id}'`).run().changes).toBe(1);
        file.close();
      },
    );
    for (const text of [owner, stranger]) expect(text).not.toContain(secret);
    expect(what === "caller" ? stranger : owner).toMatch(damaged);
  },
);

test.skipIf(!redisInstalled).each<Change>(["caller", "expiry", "owner"])(
  "a turn whose %s was changed in Redis is damaged, and neither its own key nor another one reads it",
  async (what) => {
    const redis = await redisServer();
    const socket = redis.url.replace("unix:", "");
    const run = (...args: readonly string[]) =>
      execFileSync("redis-cli", ["-s", socket, ...args], { encoding: "utf8" }).trim();
    const { owner, stranger } = await changed(
      (home) => sharedStore(redis.url, home, "a"),
      ({ id, other }) => {
        const keyOf = (turn: string) => run("KEYS", `*row:${turn}`);
        const [field, value] = {
          caller: ["m:caller", run("HGET", keyOf(other), "m:caller")],
          expiry: ["expires", String(later)],
          owner: ["owner", "another process"],
        }[what] as [string, string];
        expect(run("HSET", keyOf(id), field, value)).toBe("0"); // the field was there
      },
    );
    for (const text of [owner, stranger]) expect(text).not.toContain(secret);
    expect(what === "caller" ? stranger : owner).toMatch(damaged);
  },
);
