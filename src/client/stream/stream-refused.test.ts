import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { idle, until } from "../../base/wait.fake.ts";
import { openMemoryRecordStore } from "../records/memory-record-store.ts";
import { DyingStore } from "../records/record-store.fake.ts";
import { transportTo } from "../routes.fake.ts";
import { FakeStreamServer, refusal, says } from "../stream-server.fake.ts";
import { cutTier } from "../tiers/faulty-tier.fake.ts";
import { openBidiTier, type Tier } from "../tiers/tier.ts";
import { startReliableStream } from "./open-stream.ts";
import type { ConnectionChange } from "./stream-options.ts";
import { failing, hasty, link, never, optionsFor, plain, readAll, request, scripted } from "./stream-world.fake.ts";

test.each([
  [{ role: "user", content: "Hi" }, "messages[0].text"],
  [{ role: "system", text: "Hi" }, "messages[0].role"],
])("a message as another API has it is refused before anything is sent: %j", async (message, where) => {
  const tier = scripted(() => failing(refusal("expired", "expired", Code.FailedPrecondition)));
  const odd = { ...request, messages: [message as never] };
  await expect(startReliableStream(odd, { ...hasty, gateway: link(tier) }, never)).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining(where),
  });
  expect(tier.attached).toHaveLength(0);
});

describe("a stream that the gateway refuses", () => {
  test.each([["expired"], ["diverged"], ["ticket_spent"], ["seqno_conflict"]])(
    "ends with the gateway's error: %s",
    async (reason) => {
      const tier = scripted(() => failing(refusal(reason, "expired", Code.FailedPrecondition)));
      const stream = await startReliableStream(request, { ...hasty, gateway: link(tier) }, never);
      await expect(readAll(stream)).rejects.toMatchObject({ code: "expired", details: { reason } });
      expect(tier.attached).toHaveLength(1);
    },
  );

  describe("an attach that another one has taken the stream from", () => {
    const refusedTimes = (times: number) => {
      const works = openBidiTier(transportTo(new FakeStreamServer(plain)));
      const taken = refusal("superseded", "cancelled", Code.Aborted);
      let left = times;
      const tier: Tier = { name: "bidi", attach: (...words) => (left-- > 0 ? failing(taken) : works.attach(...words)) };
      return startReliableStream(request, { ...hasty, gateway: link(tier) }, never);
    };

    test("is tried once more, because it may have been a late one of its own", async () => {
      expect((await readAll(await refusedTimes(1))).at(-1)).toMatchObject({ type: "end", outcome: "finished" });
    });

    test("is tried no more often for connections that were welcomed before they broke: none of those can be late", async () => {
      const server = new FakeStreamServer(plain);
      const welcomed = cutTier(openBidiTier(transportTo(server)), () => ({ down: 1 }));
      const taken = refusal("superseded", "cancelled", Code.Aborted);
      let attaches = 0;
      const attach: Tier["attach"] = (...words) => (++attaches <= 3 ? welcomed.attach(...words) : failing(taken));
      const stream = await startReliableStream(request, { ...hasty, gateway: link({ name: "bidi", attach }) }, never);
      await expect(readAll(stream)).rejects.toMatchObject({ details: { reason: "superseded" } });
      expect(attaches).toBe(5);
    });

    test("ends the stream the second time, because another program has it", async () => {
      await expect(readAll(await refusedTimes(2))).rejects.toMatchObject({ details: { reason: "superseded" } });
    });
  });

  test("ends when its key is wrong, and keeps its record for the right one", async () => {
    const disk = new Map();
    const tier = scripted(() => failing(new ConnectError("no", Code.Unauthenticated)));
    const options = { ...hasty, gateway: link(tier), store: new DyingStore(disk) };
    await expect(readAll(await startReliableStream(request, options, never))).rejects.toMatchObject({
      code: "unauthenticated",
    });
    expect(disk.size).toBe(1);
  });

  test("forgets a record that is expired, and one whose request was never accepted", async () => {
    const disk = new Map();
    const tier = scripted(() => failing(refusal("", "unknown_model", Code.InvalidArgument)));
    const options = { ...hasty, gateway: link(tier), store: new DyingStore(disk) };
    await expect(readAll(await startReliableStream(request, options, never))).rejects.toMatchObject({
      code: "unknown_model",
    });
    expect(disk.size).toBe(0);
  });

  test("reports a gateway that does not speak the protocol", async () => {
    const tier = scripted(() => failing(new ConnectError("404", Code.Unimplemented)));
    const stream = await startReliableStream(request, { ...hasty, gateway: link(tier) }, never);
    await expect(readAll(stream)).rejects.toThrow("does not speak the stream protocol");
  });
});

describe("a gateway that is away", () => {
  test("is tried as often as the budget says, with waits that are drawn, and never after", async () => {
    const tier = scripted(() => failing(new ConnectError("gone", Code.Unavailable)));
    const clock = new FakeClock();
    const waits: number[] = [];
    const stream = await startReliableStream(
      request,
      {
        gateway: link(tier),
        clock,
        random: () => 0.5,
        backoff: { baseMs: 100, capMs: 1000, budget: 6 },
        onConnection: (change) => change.state === "reconnecting" && waits.push(change.waitMs),
      },
      never,
    );
    const read = readAll(stream).catch((error: unknown) => error);
    for (let i = 0; i < 10; i++) await clock.advance(1000);
    expect(await read).toMatchObject({ code: "upstream_failed" });
    expect(waits).toEqual([50, 100, 200, 400, 500, 500]);
    expect(tier.attached).toHaveLength(7);
  });

  const nobody = () => failing(Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" }));
  const silent = () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) });

  test.each([
    ["refuses connections", nobody, "connect ECONNREFUSED 127.0.0.1:1"],
    ["does not let a page's origin in", () => failing(new TypeError("Failed to fetch")), "Failed to fetch"],
    [
      "is behind a proxy that has lost it",
      () => failing(new ConnectError("bad gateway", Code.Unavailable)),
      "bad gateway",
    ],
    ["says nothing at all", silent, "nothing was answered"],
  ])("and never welcomed a stream is given up within half a minute: it %s", async (_, answer, why) => {
    const disk = new Map();
    const clock = new FakeClock();
    const gateway = link(scripted(answer), { ...scripted(answer), name: "poll" });
    const options = { gateway, clock, random: () => 0.999, store: new DyingStore(disk) };
    let failure: unknown;
    const read = readAll(await startReliableStream(request, options, never)).catch(
      (error: unknown) => (failure = error),
    );
    const pass = async (seconds: number) => {
      for (let i = 0; i < seconds; i++) {
        await clock.advance(1000);
        await until(() => clock.sleeping > 0 || failure !== undefined);
      }
    };
    await pass(20);
    expect(failure).toBeUndefined();
    await pass(10);
    await read;
    expect(failure).toMatchObject({ code: "upstream_failed", message: `No gateway answered within 30 s (${why}).` });
    expect(failure).toHaveProperty("hint", expect.stringContaining("millrace status"));
    expect(disk.size).toBe(1); // it continues once a gateway answers
  });

  test("and was there once is waited for as long as the budget says", async () => {
    const server = new FakeStreamServer(plain);
    const works = openBidiTier(transportTo(server));
    const clock = new FakeClock();
    let isGone = false;
    const tier: Tier = {
      name: "bidi",
      attach: (...words) => (isGone ? nobody() : works.attach(...words)),
    };
    const shared = link(tier);
    const options = { gateway: shared, clock, random: () => 0.5, store: openMemoryRecordStore() };
    await readAll(await startReliableStream(request, options, never));
    isGone = true;
    const waiting = readAll(await startReliableStream(request, options, never));
    for (let i = 0; i < 120; i++) await clock.advance(1000);
    isGone = false;
    for (let i = 0; i < 30; i++) await clock.advance(1000);
    expect((await waiting).at(-1)).toMatchObject({ type: "end", outcome: "finished" });
  });

  test("is left alone as long as it asks for", async () => {
    const tier = scripted(() =>
      failing(new ConnectError("slow down", Code.ResourceExhausted, new Headers({ "retry-after": "7" }))),
    );
    const clock = new FakeClock();
    const words: (string | undefined)[] = [];
    const options = {
      gateway: link(tier),
      clock,
      random: () => 0,
      backoff: { baseMs: 1, capMs: 1, budget: 1 },
      onConnection: (change: ConnectionChange) => change.state === "reconnecting" && words.push(change.why),
    };
    const read = readAll(await startReliableStream(request, options, never)).catch((error: unknown) => error);
    await until(() => clock.sleeping > 0);
    await clock.advance(6999);
    await idle();
    expect(tier.attached).toHaveLength(1);
    await clock.advance(1);
    await until(() => tier.attached.length === 2);
    expect(tier.attached).toHaveLength(2);
    expect(words).toEqual(["slow down"]);
    expect(await read).toMatchObject({ code: "upstream_failed" });
  });

  test("gets its budget back when anything new arrives, and not from a welcome alone", async () => {
    const server = new FakeStreamServer([Array.from({ length: 9 }, (_, i) => says(String(i)))]);
    const options = optionsFor(server, (attach) => ({ down: attach < 4 ? 1 : 4 }));
    const policy = { baseMs: 0, capMs: 0, budget: 4 };
    const fruitless: number[] = [];
    const events = await readAll(
      await startReliableStream(
        request,
        {
          ...options,
          backoff: policy,
          onConnection: (change) => change.state === "reconnecting" && fruitless.push(change.fruitless),
        },
        never,
      ),
    );
    expect(events.at(-1)).toMatchObject({ type: "end" });
    expect(fruitless.slice(0, 4)).toEqual([1, 2, 3, 4]);
    expect(Math.max(...fruitless.slice(4))).toBe(1);
  });
});
