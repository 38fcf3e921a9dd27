import { describe, expect, test } from "vitest";
import { defaultPace } from "../../src/backends/cascade/poll-schedule.ts";
import { type Cell, cells } from "../matrix/apis.ts";
import { type Asked, askOf, expectFailures, expectPrompts, repeatedly } from "../matrix/repeats.ts";
import { type BackendName, backends, type StandIn, standInFor } from "../matrix/stand-in.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { rowsOf } from "../support/tables.ts";
import { gateway } from "../support/world.ts";

const turn = { rate: "instant", firstMs: 10, inputMs: 5, thinking: 0 } as const;

async function open(backend: BackendName, holdAfter?: number) {
  const held = holdAfter === undefined ? turn : { ...turn, rate: 2_000, chunk: 8, holdAfter };
  // without a language server, which would be found in place of the program that is gone
  const alone = backend === "ACP" ? ({ profile: "devin-cli" } as const) : {};
  const standIn = await standInFor(backend, { turn: held, ...alone });
  return { standIn, served: await gateway({ home: standIn.ide.home, args: ["--continuity", "off"] }) };
}

/** For how long a turn in its middle waits for an IDE that is gone; ms. An agent is started again at once. */
const awayMs: Readonly<Record<BackendName, number>> = { Cascade: defaultPace.outageMs, ACP: 0 };

/** Asks in all cells at once, and resolves when each has a part of its answer; then all are held in the middle. */
async function askedInTheMiddle(served: GatewayProcess, asked: readonly Asked[], backend: BackendName) {
  const begun = asked.map(() => Promise.withResolvers<void>());
  const told = asked.map(({ cell, question }, at) =>
    cell.ask(served, { ...question, onText: () => begun[at]?.resolve(), awayMs: awayMs[backend] }),
  );
  const ended = Promise.all(told).then((all) => {
    throw new Error(`an answer ended before its middle: ${JSON.stringify(all)}`);
  });
  await Promise.race([Promise.all(begun.map(({ promise }) => promise)), ended]);
  ended.catch(() => {}); // they end later, and are looked at then
  return { told };
}

/** Asks something else until it is answered: the gateway has found what came back. */
async function untilAnswered(served: GatewayProcess, { model }: StandIn): Promise<void> {
  const [cell] = cells;
  const answered = async (at: number) => (await cell?.ask(served, { model, text: `Are you back? ${at}` }))?.failed;
  let at = 0;
  await expect.poll(() => answered(at++)).toBe(false);
}

const middle = "[[sim: size=400]]";

describe.each(rowsOf(backends))("over %s", (backend: BackendName) => {
  test("without what answers every client reads soon what is missing, and a gateway that finds it again sends once", async () => {
    const { standIn, served } = await open(backend);
    await untilAnswered(served, standIn);
    await standIn.crash();
    const asked = askOf(cells, [standIn.model], "Is anybody there?");
    await Promise.all(
      asked.map(async (one) => {
        const told = await repeatedly(served, one);
        expectFailures(one, told, /devin|windsurf/i);
        const statuses = new Set(told.flatMap(({ status }) => status ?? []));
        expect([...statuses]).toEqual(one.cell.api === "the stream protocol" ? [] : [424]);
      }),
    );
    const asCodex = { model: standIn.model, text: "From Codex.", userAgent: "codex_cli_rs/0.169.0" };
    const responses = cells.filter(({ api }) => api === "Responses");
    const codex = await Promise.all(responses.map((cell) => cell.ask(served, asCodex)));
    expect(codex.map(({ status }) => status)).toEqual([400, 400]);
    await standIn.comeBack();
    await untilAnswered(served, standIn);
    for (const { cell, question } of asked) expect(await cell.ask(served, question)).toMatchObject({ failed: false });
    expectPrompts(asked, await standIn.prompts());
  });

  test("a crash in the middle of an answer is reported in words, costs one more prompt at most, and says what to do under a key", async () => {
    const { standIn, served } = await open(backend, 40);
    const asked = askOf(cells, [standIn.model], middle);
    const { told } = await askedInTheMiddle(served, asked, backend);
    await standIn.crash();
    for (const [at, one] of asked.entries())
      expectFailures(one, [(await told[at]) ?? nothing], /ended|broke|gone|IDE|agent/);
    await Promise.all(asked.map(async (one) => expectFailures(one, await repeatedly(served, one), /\w/)));
    await standIn.comeBack();
    await standIn.ide.setTurn(turn);
    await untilAnswered(served, standIn);
    await Promise.all(asked.map((one) => afterwards(served, one)));
    expectPrompts(asked, await standIn.prompts());
  });

  test("a restart in the middle of an answer costs one more prompt at most, and the client has an end or reads why", async () => {
    const { standIn, served } = await open(backend, 40);
    const asked = askOf(cells, [standIn.model], middle);
    const { told } = await askedInTheMiddle(served, asked, backend);
    await standIn.ide.setTurn(turn);
    await standIn.restart();
    for (const [at, one] of asked.entries()) {
      const first = (await told[at]) ?? nothing;
      if (first.failed) expectFailures(one, [first], /ended|broke|gone|IDE|agent/);
    }
    await Promise.all(asked.map((one) => repeatedly(served, one)));
    expectPrompts(asked, await standIn.prompts());
  });
});

const nothing = { failed: true, text: "" };

/** What the same request comes to once all is well: under a key the stored failure, which says how to go on. */
async function afterwards(served: GatewayProcess, { cell, question }: Asked): Promise<void> {
  const told = await cell.ask(served, question);
  if (!cell.keyed) return;
  expect([cell.how, told.failed]).toEqual([cell.how, true]);
  if (isNamedStream(cell)) return;
  expect(told.text).toMatch(/Idempotency-Key is spent/);
  expect(told.text).toMatch(/new key/);
}

/** A stream has no key but its name. */
function isNamedStream({ api }: Cell): boolean {
  return api === "the stream protocol";
}
