import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { listening } from "../../../test/support/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { Secret } from "../../base/secret.ts";
import type { CommandContext } from "../command.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { openOutput } from "../terminal/output.ts";
import { askTurn } from "./chat-turn.ts";

/** Without the wait before a repetition. */
const sleep: typeof systemClock.sleep = async (ms, signal) => {
  if (ms > 1000) await systemClock.sleep(ms, signal);
};

type Answer = (response: ServerResponse) => void;

/** A server in a gateway's place that answers each question in its turn; the keys that it was asked with. */
async function gatewayOf(...answers: readonly Answer[]) {
  const keys: unknown[] = [];
  const end = { eventId: "2", atMs: 0, type: "finished", reason: "stop", text: "Good day." };
  const other: Readonly<Record<string, string>> = {
    "/health": JSON.stringify({ status: "ok", store: { degraded: true } }),
    "/v1/turns": JSON.stringify({ data: [] }),
    "/v1/turns/turn_1/events": `id: 2\nevent: finished\ndata: ${JSON.stringify(end)}\n\n`,
  };
  const server = createServer((request: IncomingMessage, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://gateway");
    if (request.method === "GET") return void response.end(other[pathname]);
    request.resume().on("end", () => answers[keys.push(request.headers["idempotency-key"]) - 1]?.(response));
  });
  const port = await listening(server);
  const io = fakeIo({ homeFolder: "/nowhere" });
  const context = {
    io: { ...io, clock: { ...systemClock, sleep } },
    out: openOutput(io.stdout, io.stderr, {}),
    signal: new AbortController().signal,
  } as unknown as CommandContext; // the settings are not asked for
  const gateway = { url: `http://127.0.0.1:${port}`, key: new Secret("mr_key") };
  const way = { gateway: async () => gateway, graceMs: 0 };
  const turn = askTurn({ model: "any", messages: [{ role: "user", content: "Hello" }] }, way, context);
  const read = async () => {
    const types = [];
    for await (const { type } of turn.events()) types.push(type);
    return types;
  };
  return { keys, read };
}

const lost: Answer = (response) => response.destroy();
const begun: Answer = (response) => response.writeHead(200, { "x-millrace-turn": "turn_1" }).end();
const withoutStore: Answer = (response) => {
  const error = { message: "The store cannot be written.", millrace: { code: "unavailable", message: "No store." } };
  response.writeHead(503).end(JSON.stringify({ error }));
};

test("a question whose connection is lost is asked again under its key", async () => {
  const { keys, read } = await gatewayOf(lost, begun);
  expect(await read()).toEqual(["finished"]);
  expect(keys).toEqual([expect.any(String), keys[0]]);
});

test("without a store a question has no key, so it is never asked twice", async () => {
  const { keys, read } = await gatewayOf(withoutStore, lost, begun);
  await expect(read()).rejects.toMatchObject({ code: "upstream_failed" });
  expect(keys).toEqual([expect.any(String), undefined]);
});
