import { describe, expect, test } from "vitest";
import { cells } from "../matrix/apis.ts";
import { askOf, expectFailures, expectFinal, expectPrompts, repeatedly } from "../matrix/repeats.ts";
import { type BackendName, backends, standInFor } from "../matrix/stand-in.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { gateway } from "../support/world.ts";

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
async function modelsOf({ url, key }: GatewayProcess): Promise<readonly string[]> {
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

test("a client that pauses before it repeats a 5xx reads at once that its prompt did not arrive", async () => {
  const { statuses } = await toldAs("opencode/1.18.33", "error=internal error-at=send");
  expect(new Set(statuses)).toEqual(new Set([422]));
});

test("a client that repeats every error in a stream reads the reason at its first repeat, after one prompt", async () => {
  const { statuses, prompts } = await toldAs("factory-cli/0.215.0", "error=internal error-after=40");
  expect([...new Set(statuses)]).toEqual([200, 422]);
  expect(statuses.indexOf(422)).toBe(1);
  expect(prompts).toBe(1);
});

describe.each(backends)("over %s", (backend: BackendName) => {
  test.each(faults)(
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
