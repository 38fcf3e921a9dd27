import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, openai, simulator } from "../support/world.ts";

const secret = "a secret answer";

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

test("a turn whose caller was changed in the file is damaged, and neither its own key nor another one reads it", async () => {
  const home = temporaryHome();
  await simulator({ home });
  const args = ["--continuity", "off"];
  const first = await gateway({ home, args });
  const stranger = (await millrace(["keys", "create", "other"], { home })).stdout.trim();
  const id = await answered(first, `[[sim: text="${secret}"]]`);
  const other = await answered({ ...first, key: stranger }, "something else");
  expect(await shown(first, id)).toContain(secret);
  expect(await shown({ ...first, key: stranger }, id)).not.toContain(secret);
  await first.stop();
  const file = new DatabaseSync(join(home, ".millrace/turns.db"));
  const callerOf = `(SELECT json_extract(meta, '$.caller') FROM logs WHERE id = '${other}')`;
  const change = `UPDATE logs SET meta = json_set(meta, '$.caller', ${callerOf}) WHERE id = '${id}'`;
  expect(file.prepare(change).run().changes).toBe(1);
  file.close();
  const second = await gateway({ home, args });
  expect(await shown(second, id)).not.toContain(secret);
  const strangers = await shown({ ...second, key: stranger }, id);
  expect(strangers).not.toContain(secret);
  expect(strangers).toMatch(/changed or damaged/);
});
