import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Secret } from "../base/secret.ts";
import type { AttachedStream, LogStore, StreamName } from "./store.ts";
import { newTurn, type SettableClock } from "./turn.fake.ts";

const key = (byte: number) => new Secret(Buffer.alloc(32, byte).toString("base64url"));
const never = new AbortController().signal;
const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = (payload: Uint8Array) => new TextDecoder().decode(payload);
let names = 0;

/** The cases for clients' messages that every log store passes; called inside its suite. */
export function describeStreams(storeOf: () => LogStore, clockOf: () => SettableClock): void {
  describe("a client's stream", () => {
    function named(overrides: Partial<StreamName> = {}): StreamName {
      names += 1;
      return { caller: "caller-1", name: `stream-${names}`, clientKey: key(1), ...overrides };
    }

    const send = (stream: AttachedStream, seqno: number, text = `message ${seqno}`) =>
      storeOf().admit(stream, { seqno, payload: bytes(text) });

    test("accepts its messages in order, once each, and shows them to the next attach", async () => {
      const name = named();
      const stream = await storeOf().attachStream(name, "create");
      expect(stream).toMatchObject({ epoch: 1, accepted: [] });
      expect(await send(stream, 0)).toMatchObject({ outcome: "admitted" });
      expect(await send(stream, 1)).toMatchObject({ outcome: "admitted" });
      expect(await send(stream, 0)).toEqual({ outcome: "repeated" });
      const again = await storeOf().attachStream(name, "resume");
      expect(again.epoch).toBe(2);
      expect(again.accepted.map(({ seqno, payload }) => [seqno, textOf(payload)])).toEqual([
        [0, "message 0"],
        [1, "message 1"],
      ]);
    });

    test("refuses another payload under a used number, and a number that skips one; nothing changes", async () => {
      const name = named();
      const stream = await storeOf().attachStream(name, "create");
      await send(stream, 0);
      expect(await send(stream, 0, "something else")).toEqual({ outcome: "conflict" });
      expect(await send(stream, 2)).toEqual({ outcome: "gap" });
      expect((await storeOf().attachStream(name, "resume")).accepted).toHaveLength(1);
    });

    test("belongs to its newest attach; the older one gets an error and cannot send any more", async () => {
      const name = named();
      const older = await storeOf().attachStream(name, "create");
      const told = storeOf().untilSuperseded(older, never);
      const newer = await storeOf().attachStream(name, "create");
      await expect(told).resolves.toBeUndefined();
      await expect(storeOf().untilSuperseded(older, never)).resolves.toBeUndefined();
      expect(await send(older, 0)).toEqual({ outcome: "fenced" });
      expect(await send(newer, 0)).toMatchObject({ outcome: "admitted" });
    });

    test("has its turns ended by its newest attach only", async () => {
      const name = named();
      const older = await storeOf().attachStream(name, "create");
      const turn = newTurn();
      const { turnId } = turn;
      await storeOf().admit(older, { seqno: 0, payload: bytes("ask") }, { turn, owner: "o" });
      const newer = await storeOf().attachStream(name, "create");
      expect(await storeOf().requestCancel(turnId, "client", older)).toBe(false);
      expect((await storeOf().listRunning()).find((held) => held.turnId === turnId)?.cancelRequested).toBeUndefined();
      expect(await storeOf().requestCancel(turnId, "client", newer)).toBe(true);
      expect(await storeOf().untilCancelRequested(turnId, never)).toBe("client");
    });

    test("creates the turn of a message together with it, and only then", async () => {
      const name = named();
      const stream = await storeOf().attachStream(name, "create");
      const turn = newTurn();
      const message = { seqno: 0, payload: bytes("ask") };
      const first = await storeOf().admit(stream, message, { turn, owner: "o" });
      const opening = { clientKey: name.clientKey };
      expect(await storeOf().get(turn.turnId, opening)).toMatchObject({ turnId: turn.turnId }); // at once, in the same step
      expect(first).toMatchObject({ outcome: "admitted", turn: { record: { turnId: turn.turnId } } });
      const other = newTurn();
      expect(await storeOf().admit(stream, message, { turn: other, owner: "o" })).toEqual({ outcome: "repeated" });
      expect(await storeOf().get(other.turnId, opening)).toBeUndefined();
      const again = await storeOf().attachStream(name, "resume");
      expect(again.accepted.map(({ turnId }) => turnId)).toEqual([turn.turnId]);
    });

    test("is attached to with a ticket, each of which is spent once; the last one once more, since its answer can be lost", async () => {
      const name = named();
      const first = await storeOf().attachStream(name, "create");
      const second = await storeOf().attachStream(name, "create");
      expect(second.nextTicket?.reveal()).toMatch(/^[\w-]{43}$/);
      const third = await storeOf().attachStream(name, "resume", second.nextTicket);
      const again = await storeOf().attachStream(name, "resume", second.nextTicket);
      const fifth = await storeOf().attachStream(name, "resume", again.nextTicket);
      const told = storeOf().untilSuperseded(fifth, never);
      for (const spent of [undefined, first.nextTicket, second.nextTicket, third.nextTicket]) {
        const refused = storeOf().attachStream(name, "resume", spent);
        await expect(refused).rejects.toMatchObject({ code: "cancelled", details: { reason: "ticket_spent" } });
      }
      await told;
      expect(await send(fifth, 0)).toEqual({ outcome: "fenced" });
      const sixth = await storeOf().attachStream(name, "resume", fifth.nextTicket);
      expect(await send(sixth, 0)).toMatchObject({ outcome: "admitted" });
    });

    test("an attach that comes late with the ticket of another one leaves that one's own ticket good", async () => {
      const name = named();
      const { nextTicket } = await storeOf().attachStream(name, "create");
      const second = await storeOf().attachStream(name, "resume", nextTicket);
      const third = await storeOf().attachStream(name, "resume", nextTicket);
      await storeOf().attachStream(name, "resume", nextTicket); // it comes late
      const again = await storeOf().attachStream(name, "resume", second.nextTicket);
      expect(await send(again, 0)).toMatchObject({ outcome: "admitted" });
      for (const spent of [nextTicket, third.nextTicket]) {
        const refused = storeOf().attachStream(name, "resume", spent);
        await expect(refused).rejects.toMatchObject({ code: "cancelled", details: { reason: "ticket_spent" } });
      }
    });

    test("remembers the tickets of sixteen attaches that came for one ticket, and no more", async () => {
      const name = named();
      const { nextTicket } = await storeOf().attachStream(name, "create");
      const attach = () => storeOf().attachStream(name, "resume", nextTicket);
      const [first, second] = [await attach(), await attach()];
      for (let more = 0; more < 16; more++) await attach();
      await expect(storeOf().attachStream(name, "resume", first.nextTicket)).rejects.toMatchObject({
        details: { reason: "ticket_spent" },
      });
      const again = await storeOf().attachStream(name, "resume", second.nextTicket);
      expect(await send(again, 0)).toMatchObject({ outcome: "admitted" });
    });

    test("shows itself to an observer, who takes nothing from the one who writes and needs no ticket", async () => {
      const name = named();
      await expect(storeOf().attachStream(name, "observe")).rejects.toMatchObject({ code: "expired" });
      const { nextTicket } = await storeOf().attachStream(name, "create");
      const writer = await storeOf().attachStream(name, "resume", nextTicket);
      await send(writer, 0);
      const observer = await storeOf().attachStream(name, "observe");
      expect(observer).toMatchObject({ epoch: writer.epoch, accepted: [{ seqno: 0 }], nextTicket: undefined });
      expect(await send(writer, 1)).toMatchObject({ outcome: "admitted" });
    });

    test("that does not exist, or belongs to another key or caller, is `expired` for a client that resumes it", async () => {
      const name = named();
      await storeOf().attachStream(name, "create");
      for (const other of [named(), { ...name, clientKey: key(2) }, { ...name, caller: "caller-2" }]) {
        await expect(storeOf().attachStream(other, "resume")).rejects.toMatchObject({ code: "expired" });
      }
      const elsewhere = await storeOf().attachStream({ ...name, clientKey: key(2) }, "create");
      expect(elsewhere).toMatchObject({ epoch: 1, accepted: [] });
    });

    test("is kept for two hours after its last message or attach, then stays `expired`", async () => {
      const hourMs = 3_600_000;
      const name = named();
      const stream = await storeOf().attachStream(name, "create");
      clockOf().move(hourMs);
      await send(stream, 0);
      clockOf().move(2 * hourMs - 1);
      const again = await storeOf().attachStream(name, "resume");
      expect(again.expiresAtMs).toBe(clockOf().now() + 2 * hourMs);
      clockOf().move(2 * hourMs);
      for (const intent of ["resume", "create"] as const) {
        await expect(storeOf().attachStream(name, intent)).rejects.toMatchObject({ code: "expired" });
      }
      await expect(send(again, 1)).rejects.toMatchObject({ code: "expired" });
      clockOf().move(-2 * hourMs);
      await expect(storeOf().attachStream(name, "create")).rejects.toMatchObject({ code: "expired" });
      clockOf().move(48 * hourMs);
      await storeOf().sweep();
      expect(await storeOf().attachStream(name, "create")).toMatchObject({ epoch: 1 });
    });

    test("takes no message whose number was used for one that differs in any byte (G5)", async () => {
      const name = named();
      const stream = await storeOf().attachStream(name, "create");
      const payload = bytes("a message");
      await storeOf().admit(stream, { seqno: 0, payload });
      for (let at = 0; at <= payload.length; at++) {
        const changed = Uint8Array.from([
          ...payload.subarray(0, at),
          (payload[at] ?? 0) ^ 1,
          ...payload.subarray(at + 1),
        ]);
        expect(await storeOf().admit(stream, { seqno: 0, payload: changed })).toEqual({ outcome: "conflict" });
      }
      expect(await storeOf().admit(stream, { seqno: 0, payload })).toEqual({ outcome: "repeated" });
      expect((await storeOf().attachStream(name, "resume")).accepted).toHaveLength(1);
    });

    test("keeps a message of some megabytes as it came, and knows it again by each of its bytes", async () => {
      const name = named();
      const stream = await storeOf().attachStream(name, "create");
      const payload = Buffer.alloc(2_500_001, "every byte of it ");
      const changed = Buffer.concat([payload.subarray(0, -1), bytes("!")]);
      const turn = newTurn();
      const sent = [
        await storeOf().admit(stream, { seqno: 0, payload }, { turn, owner: "o" }),
        await storeOf().admit(stream, { seqno: 0, payload: changed }),
        await storeOf().admit(stream, { seqno: 0, payload: bytes("") }),
        await storeOf().admit(stream, { seqno: 0, payload }),
        await storeOf().admit(stream, { seqno: 1, payload: changed }),
        await send(stream, 2),
      ];
      expect(sent.map(({ outcome }) => outcome)).toEqual(
        ["admitted", "conflict", "conflict", "repeated", "admitted", "admitted"], //
      );
      const { accepted } = await storeOf().attachStream(name, "resume");
      expect(accepted.map(({ turnId }) => turnId)).toEqual([turn.turnId, undefined, undefined]);
      const same = [payload, changed, bytes("message 2")].map((one, i) =>
        Buffer.from(one).equals(accepted[i]?.payload ?? one.subarray(1)),
      );
      expect(same).toEqual([true, true, true]);
    });

    test("ends in the same state, however often its messages are repeated (P7)", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat({ max: 4 }), { maxLength: 25 }), async (attempts) => {
          const name = named();
          const stream = await storeOf().attachStream(name, "create");
          let accepted = 0;
          for (const seqno of attempts) {
            const { outcome } = await send(stream, seqno);
            expect(outcome).toBe(seqno < accepted ? "repeated" : seqno === accepted ? "admitted" : "gap");
            if (outcome === "admitted") accepted += 1;
          }
          const { accepted: held } = await storeOf().attachStream(name, "resume");
          expect(held.map(({ payload }) => textOf(payload))).toEqual(
            Array.from({ length: accepted }, (_, seqno) => `message ${seqno}`),
          );
        }),
        { numRuns: 10 },
      );
    });
  });
}
