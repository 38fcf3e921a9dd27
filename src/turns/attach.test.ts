import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError } from "../base/errors.ts";
import { startOfLog } from "../base/ids.ts";
import { Secret } from "../base/secret.ts";
import { idle, until } from "../base/wait.fake.ts";
import { openMemoryLog } from "../log/memory-log.fake.ts";
import { defaultRetention } from "../log/store.ts";
import { asking, bound, fakeTurns } from "./turns.fake.ts";

const never = new AbortController().signal;
const clientKey = new Secret(Buffer.alloc(32, 9).toString("base64url"));
const name = { caller: "caller-1", name: "8f14e45f-ceea-467f-a834-8d2a9e3c1b21", clientKey };
const ask = { seqno: 0, payload: new TextEncoder().encode("the request") };

function begin(retention = defaultRetention) {
  const clock = new FakeClock();
  const store = openMemoryLog({ clock, retention });
  return { ...fakeTurns({ store, clock }), clock };
}

describe("a message on a client's stream", () => {
  test("starts its turn once, however often and over which connections it is sent", async () => {
    const { turns, backend } = begin();
    const first = await turns.attach(name, "create");
    const sent = await first.send(ask, asking(), never);
    expect(sent).toMatchObject({ outcome: "admitted", turn: { joined: "no" } });
    expect(await first.send(ask, asking(), never)).toEqual({ outcome: "repeated", turn: undefined });
    const second = await turns.attach(name, "resume");
    expect(second.accepted).toMatchObject([{ seqno: 0, turnId: sent.turn?.turnId }]);
    expect(await second.send(ask, asking(), never)).toMatchObject({ outcome: "repeated" });
    expect(backend.sent).toHaveLength(1);
    await turns.stop();
  });

  test("over a replaced connection is refused, and that connection gets the reason", async () => {
    const { turns, backend } = begin();
    const older = await turns.attach(name, "create");
    const newer = await turns.attach(name, "resume");
    await until(() => older.superseded.aborted);
    expect(older.superseded.reason).toMatchObject({ code: "cancelled", details: { reason: "superseded" } });
    expect(newer.superseded.aborted).toBe(false);
    expect(await older.send(ask, asking(), never)).toMatchObject({ outcome: "fenced" });
    expect(backend.answers).toHaveLength(0);
    newer.close();
    await turns.stop();
  });

  test("that comes late ends nothing: neither as a request of the same session, nor as a cancel", async () => {
    const { turns, backend } = begin();
    const older = await turns.attach(name, "create");
    const newer = await turns.attach(name, "resume");
    const left = new AbortController();
    const { turn } = await newer.send(ask, asking({ session: "a conversation" }), left.signal);
    if (turn === undefined) throw new Error("no turn was started");
    left.abort(); // nobody reads it now
    await idle();
    expect(await older.send(ask, asking({ session: "a conversation" }), never)).toMatchObject({ outcome: "fenced" });
    expect(await older.cancel(turn.turnId, "client")).toBe(false);
    expect(backend.last.closed).toBe(false);
    expect(await newer.cancel(turn.turnId, "client")).toBe(true);
    expect(backend.last.closed).toBe(true);
    await turns.stop();
  });

  test("that cannot be carried out is not accepted, and may be sent again", async () => {
    const { turns, backend } = begin();
    const stream = await turns.attach(name, "create");
    backend.missing = new MillraceError("ide_not_running", "No IDE runs.");
    await expect(stream.send(ask, asking(), never)).rejects.toMatchObject({ code: "ide_not_running" });
    backend.missing = undefined;
    expect(await stream.send(ask, asking(), never)).toMatchObject({ outcome: "admitted" });
    await turns.stop();
  });

  test("that starts nothing is still kept", async () => {
    const { turns } = begin();
    const stream = await turns.attach(name, "create");
    expect(await stream.send(ask, undefined, never)).toEqual({ outcome: "admitted", turn: undefined });
    expect((await turns.attach(name, "resume")).accepted).toHaveLength(1);
  });
});

describe("a message that is being stored", () => {
  /** A store that answers `admit` at the test's command, with the order of events. */
  function beginHeld() {
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const inner = openMemoryLog({ clock: new FakeClock() });
    const store = bound(inner);
    store.admit = async (...args) => {
      await gate.promise;
      const admitted = await inner.admit(...args);
      order.push(`admit: ${admitted.outcome}`);
      if (admitted.outcome !== "admitted" || admitted.turn === undefined) return admitted;
      const { record, writer } = admitted.turn;
      const append: typeof writer.append = async (bodies, atMs) => {
        order.push(`append: ${bodies.map(({ type }) => type).join(", ")}`);
        return writer.append(bodies, atMs);
      };
      return { outcome: "admitted", turn: { record, writer: { turnId: writer.turnId, epoch: writer.epoch, append } } };
    };
    return { ...fakeTurns({ store }), order, gate };
  }

  async function sentAndHeld() {
    const world = beginHeld();
    const stream = await world.turns.attach(name, "create");
    const sent = stream.send(ask, asking(), never);
    await until(() => world.backend.answers.length === 1);
    world.order.push("conversation begun");
    world.backend.last.onPrompt = () => world.order.push("prompt");
    await idle();
    return { ...world, stream, sent };
  }

  test("has its conversation begun meanwhile, and its prompt sent when message, turn and conversation are stored", async () => {
    const { turns, backend, order, gate, sent } = await sentAndHeld();
    gate.resolve();
    await sent;
    await backend.prompted();
    expect(order).toEqual(["conversation begun", "admit: admitted", "append: started", "prompt"]);
    await turns.stop();
  });

  test("and is refused, has its conversation cancelled, and no prompt is sent", async () => {
    const { turns, backend, order, gate, sent } = await sentAndHeld();
    await turns.attach(name, "resume");
    gate.resolve();
    expect(await sent).toEqual({ outcome: "fenced", turn: undefined });
    await until(() => backend.last.closed);
    expect(order).toEqual(["conversation begun", "admit: fenced"]);
    expect(backend.last.stoppedBy).toBe("cancel");
    await turns.stop();
  });

  test("when the gateway stops, is cleaned up first", async () => {
    const { turns, backend, gate, sent } = await sentAndHeld();
    sent.catch(() => undefined); // its outcome is of no interest
    await turns.attach(name, "resume");
    const stopped = turns.stop();
    gate.resolve();
    await stopped;
    expect(backend.last.closed).toBe(true);
  });
});

test("the turn of a sealed stream is read with the stream's key, and is unknown to all others", async () => {
  const { turns, backend } = begin();
  const stream = await turns.attach(name, "create");
  const { turn } = await stream.send(ask, asking(), never);
  if (turn === undefined) throw new Error("no turn was started");
  await backend.prompted();
  backend.last.text("for your eyes only");
  backend.last.finish("for your eyes only");
  const types: string[] = [];
  for await (const event of stream.read(turn.turnId, startOfLog, never)) types.push(event.type);
  expect(types).toEqual(["started", "text", "finished"]);
  expect(await turns.get(turn.turnId)).toMatchObject({ sealed: true, request: { messages: [] } });
  await expect(turns.follow(turn.turnId, startOfLog, never).next()).rejects.toMatchObject({ code: "invalid_request" });
  await turns.stop();
});

test("what a stream began with can be read as long as the stream continues, and no longer", async () => {
  const { turns, backend, clock } = begin();
  const stream = await turns.attach(name, "create");
  const answer = async (seqno: number) => {
    const { turn } = await stream.send({ ...ask, seqno }, asking(), never);
    if (turn === undefined) throw new Error("no turn was started");
    await backend.prompted();
    backend.last.finish("done");
    await until(async () => (await stream.get(turn.turnId))?.ended === true);
    return turn.turnId;
  };
  const first = await answer(0);
  for (const seqno of [1, 2, 3]) {
    await clock.advance(90 * 60_000);
    await answer(seqno);
  }
  const again = await turns.attach(name, "resume");
  expect(await again.get(first)).toMatchObject({ ended: true });
  await clock.advance(121 * 60_000);
  await expect(again.get(first)).rejects.toMatchObject({ code: "expired" });
  await turns.stop();
});

test("an attach moves on when the stream expires, and not when its answer does", async () => {
  const minute = 60_000;
  const { turns, backend, clock } = begin({ ...defaultRetention, keptMs: 30 * minute });
  const stream = await turns.attach(name, "create");
  const { turn } = await stream.send(ask, asking(), never);
  if (turn === undefined) throw new Error("no turn was started");
  await backend.prompted();
  backend.last.finish("done");
  await until(async () => (await stream.get(turn.turnId))?.ended === true);
  const endedAtMs = clock.now();
  await clock.advance(10 * minute);
  const again = await turns.attach(name, "resume");
  expect(again.expiresAtMs - endedAtMs).toBe(40 * minute);
  expect(await again.get(turn.turnId)).toMatchObject({ expiresAtMs: endedAtMs + 30 * minute });
  await turns.stop();
});

describe("an attach", () => {
  test("tells the store's time beside the time when its stream expires, and watches the store no longer than it is open", async () => {
    const clock = new FakeClock();
    const store = bound(openMemoryLog({ clock }));
    const real = { ...store };
    let watched: AbortSignal | undefined;
    store.now = () => clock.now() - 3_600_000; // that of another machine
    store.untilSuperseded = (stream, signal) => real.untilSuperseded(stream, (watched = signal));
    const { turns } = fakeTurns({ store, clock });
    const attached = await turns.attach(name, "create");
    expect(attached.serverNowMs).toBe(store.now());
    expect(watched?.aborted).toBe(false);
    attached.close();
    expect(watched?.aborted).toBe(true);
    await turns.stop();
  });

  test("keeps its turns together at its beginning, and again each quarter of the time that they are kept", async () => {
    const clock = new FakeClock();
    const store = bound(openMemoryLog({ clock }));
    const real = { ...store };
    let looks = 0;
    store.keepTogether = (turnIds) => (looks++, real.keepTogether(turnIds));
    const { turns } = fakeTurns({ store, clock });
    const attached = await turns.attach(name, "create");
    const send = async (seqno: number) => {
      await attached.send({ ...ask, seqno }, asking({ fingerprint: `body-${seqno}` }), never);
      return looks;
    };
    expect([looks, await send(0)]).toEqual([1, 1]);
    await clock.advance(defaultRetention.keptMs / 4);
    expect([await send(1), await send(2)]).toEqual([2, 2]);
    await turns.stop();
  });
});
