import { describe, expect, test } from "vitest";
import { cells } from "../matrix/apis.ts";
import { askOf, expectFailures, expectFinal, expectPrompts, repeatedly } from "../matrix/repeats.ts";
import { type BackendName, backends, standInFor } from "../matrix/stand-in.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { rowsOf } from "../support/tables.ts";
import { gateway, patience } from "../support/world.ts";

/** What goes wrong, by a directive in the prompt. */
interface Fault {
  readonly name: string;
  readonly directive: string;
  readonly words: RegExp;
  /** Whether the account is refused, which then holds for the model. */
  readonly refuses: boolean;
}

const faults: readonly Fault[] = [
  { name: "quota", directive: "error=quota", words: /quota/i, refuses: true },
  { name: "quota at send", directive: "error=quota error-at=send", words: /quota/i, refuses: true },
  { name: "rate limit", directive: "error=rate_limit", words: /limit/i, refuses: true },
  { name: "high demand", directive: "error=high_demand", words: /demand|limit/i, refuses: true },
  {
    name: "high demand in the middle",
    directive: "error=high_demand error-after=40",
    words: /demand|limit/i,
    refuses: true,
  },
  { name: "internal at send", directive: "error=internal error-at=send", words: /error|broke/i, refuses: false },
  { name: "internal in the middle", directive: "error=internal error-after=40", words: /error/i, refuses: false },
];

/** As many models of an account as there are cells: a refusal holds for its model. */
async function modelsOf({ url, key }: Pick<GatewayProcess, "url" | "key">): Promise<readonly string[]> {
  const list = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  const models = ((await list.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  expect(models.length).toBeGreaterThanOrEqual(cells.length);
  return models;
}

/** What a client is told of a fault, asked as often as it repeats it by itself, and what that cost. */
async function toldAs(userAgent: string, directive: string) {
  const standIn = await standInFor("Cascade", { turn: { rate: "instant", firstMs: 10, inputMs: 5, thinking: 0 } });
  const served = await gateway({ home: standIn.ide.home, args: ["--continuity", "off"] });
  const [chat] = askOf(
    cells.filter(({ api, keyed }) => api === "Chat Completions" && !keyed),
    [standIn.model],
    `[[sim: size=80 ${directive}]]`,
  );
  if (chat === undefined) throw new Error("there is no such cell");
  const told = await repeatedly(served, { ...chat, question: { ...chat.question, userAgent } });
  return { statuses: told.map(({ status }) => status), prompts: (await standIn.prompts()).length };
}

/**
 * A program that nobody knows asks by the Vercel AI SDK's rule, the least patient one of the libraries: it repeats 408, 409, 429 and 5xx
 * twice, after the wait that the headers name. It does not know `x-should-retry`.
 */
async function askByItsOwnRule(url: string, init: RequestInit) {
  const statuses: number[] = [];
  let waitMs = 0;
  for (const backOffMs of [2_000, 4_000, 0]) {
    const response = await fetch(url, { ...init, signal: patience() });
    await response.text();
    statuses.push(response.status);
    if (![408, 409, 429].includes(response.status) && response.status < 500) break;
    const { headers } = response;
    const named = Number(headers.get("retry-after-ms") ?? Number(headers.get("retry-after") ?? "NaN") * 1000);
    waitMs += named >= 0 && named < 60_000 ? named : backOffMs;
  }
  return { statuses, waitMs };
}

const bodies = {
  "/v1/chat/completions": (content: string) => ({ messages: [{ role: "user", content }] }),
  "/v1/responses": (input: string) => ({ input }),
  "/v1/messages": (content: string) => ({ max_tokens: 900, messages: [{ role: "user", content }] }),
  "/api/chat": (content: string) => ({ stream: false, messages: [{ role: "user", content }] }),
  "/v1beta/models/{model}:generateContent": (text: string) => ({ contents: [{ role: "user", parts: [{ text }] }] }),
};

test.each([
  ["error=quota", [429, 402]],
  ["error=rate_limit", [429, 400]],
  ["error=high_demand", [429, 400]],
  ["error=internal error-at=send", [400]],
])(
  "a program without a name, after %s, reads the reason within seconds and costs one prompt",
  async (fault, wanted) => {
    const standIn = await standInFor("Cascade", { turn: { rate: "instant", firstMs: 10, inputMs: 5, thinking: 0 } });
    const { url, key } = await gateway({ home: standIn.ide.home, args: ["--continuity", "off"] });
    const models = await modelsOf({ url, key });
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "user-agent": "my-app/1.0" };
    const told = await Promise.all(
      Object.entries(bodies).map(([path, bodyOf], at) => {
        const body = JSON.stringify({ model: models[at], ...bodyOf(`[[sim: size=80 ${fault}]] ${path}`) });
        return askByItsOwnRule(url + path.replace("{model}", models[at] ?? ""), { method: "POST", headers, body });
      }),
    );
    for (const { statuses, waitMs } of told) {
      expect(statuses).toEqual(wanted);
      expect(waitMs).toBeLessThanOrEqual(2_000);
    }
    expect(await standIn.prompts()).toHaveLength(told.length);
  },
);

test("a client that repeats every error in a stream reads the reason at its first repeat, after one prompt", async () => {
  const { statuses, prompts } = await toldAs("factory-cli/0.215.0", "error=internal error-after=40");
  expect([...new Set(statuses)]).toEqual([200, 400]);
  expect(statuses.indexOf(400)).toBe(1);
  expect(prompts).toBe(1);
});

describe.each(backends)("over %s", (backend: BackendName) => {
  test.each(rowsOf(faults))(
    "$name costs one more prompt at most, none under a key, and the client reads why",
    async (fault) => {
      const { directive, words, refuses } = fault;
      const standIn = await standInFor(backend, { turn: { rate: "instant", firstMs: 10, inputMs: 5, thinking: 0 } });
      const served = await gateway({ home: standIn.ide.home, args: ["--continuity", "off"] });
      const models = refuses ? await modelsOf(served) : [standIn.model];
      const asked = askOf(cells, models, `[[sim: size=80 ${directive}]]`);
      const told = await Promise.all(asked.map((one) => repeatedly(served, one)));
      for (const [at, one] of asked.entries()) {
        expectFailures(one, told[at] ?? [], words);
        expectFinal(one, told[at] ?? []);
      }
      const [first] = asked.filter(({ cell }) => cell.api === "Responses");
      const codex = await first?.cell.ask(served, { ...first.question, userAgent: "codex_cli_rs/0.169.0" });
      expect(codex?.status).toBe(400); // it repeats every other status
      expectPrompts(asked, await standIn.prompts());
    },
  );
});
