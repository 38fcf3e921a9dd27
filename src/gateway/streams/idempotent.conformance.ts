import { toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { Secret } from "../../base/secret.ts";
import {
  StreamUnifiedChatResponseWithToolsSchema as ServerChunkSchema,
  StreamEnd_Outcome,
} from "../../proto/aiserver/v1/chat_pb.ts";
import { describeAttaches } from "./attaches.conformance.ts";
import { detailsOf, type RawAttach, say, type TierName } from "./raw-client.fake.ts";
import { asked, begun, bytesOf, call, calls, idsOf, whole } from "./stream-begun.fake.ts";
import { chainDigest } from "./stream-log.ts";
import { headersOf, newNames, type StreamNames, type StreamWorld } from "./stream-world.fake.ts";

/**
 * What a server of the protocol must do, numbered R1 to R18, over one tier (docs/dev/wire/idempotent-streams.md, "What a server must do"), as an
 * original client sees them, and Millrace's additions.
 */
export function describeStream(tier: TierName): void {
  const again = (world: StreamWorld, names: StreamNames, cursor: string, more: Readonly<Record<string, string>> = {}) =>
    world.client.attach(tier, headersOf(names, cursor, more));

  describe(`a stream over tier ${tier}`, () => {
    test("R1: begins with a welcome, which says where the stream stands", async () => {
      const { world, names, first } = await begun(tier);
      expect(first.messages[0]?.response.case).toBe("welcomeMessage");
      expect(first.welcome).toMatchObject({ isDegradedMode: false, facts: { epoch: 1, tailEventId: "0", turnId: "" } });
      expect(first.welcome?.facts?.highestSeqno).toBeUndefined();
      world.backend.last.text("Hi");
      await first.until(({ text }) => text === "Hi");
      await first.cut();
      const second = await again(world, names, "0").until(({ text }) => text === "Hi");
      expect(second.messages.map(({ response }) => response.case).indexOf("welcomeMessage")).toBe(0);
      expect(second.welcome?.facts).toMatchObject({ epoch: 2, highestSeqno: 0, tailEventId: idsOf(first).at(-1) });
      const { expiresAtUnixMs = 0n, serverNowUnixMs = 0n } = second.welcome?.facts ?? {};
      expect(Number(expiresAtUnixMs - serverNowUnixMs)).toBeGreaterThanOrEqual(7_199_000);
    });

    test("R2, R3: belongs to its caller and its key; for any other it is an unknown stream", async () => {
      const { world, names, first } = await begun(tier);
      await first.until(({ chunks }) => chunks.length > 0);
      const cursor = idsOf(first).at(-1) ?? "";
      const wrongKey = again(world, { ...names, encryptionKey: newNames().encryptionKey }, cursor);
      const unknown = again(world, newNames(), cursor);
      const guest = again(world, names, cursor, { authorization: "Bearer mr-guest-key-0123456789abcdef" });
      const refusals = await Promise.all([wrongKey.ended, unknown.ended, guest.ended]);
      for (const refusal of refusals) {
        expect(detailsOf(refusal).info).toMatchObject({ code: "expired", reason: "expired" });
        expect(JSON.stringify([refusal?.code, refusal?.rawMessage, detailsOf(refusal)])).toBe(
          JSON.stringify([refusals[0]?.code, refusals[0]?.rawMessage, detailsOf(refusals[0])]),
        );
      }
      for (const refused of [wrongKey, unknown, guest]) expect(refused.messages).toHaveLength(0);
      first.send(say.request("Hello", 0, { tools: ["look"] }));
      await first.until(({ acks }) => acks.length === 2); // the refused attach did not disturb the first one
    });

    test("R4, R5, R6: acknowledges each message once it is durable, and each repeat of it; a message takes effect once", async () => {
      const { world, names, first } = await begun(tier);
      first.send(say.request("Hello", 0, { tools: ["look"] }));
      await first.until(({ acks }) => acks.length === 2);
      expect(first.acks).toEqual([0, 0]);
      await first.cut();
      const second = again(world, names, "0").send(say.request("Hello", 0, { tools: ["look"] }));
      await second.until(({ acks }) => acks.includes(0));
      expect(world.backend.answers).toHaveLength(1);
    });

    test("refuses another message under a used number; the log does not change", async () => {
      const { world, names, first } = await begun(tier);
      first.send(say.request("Something else", 0));
      const refusal = await first.ended;
      expect(refusal?.code).toBe(Code.AlreadyExists);
      expect(detailsOf(refusal).info).toMatchObject({ code: "idempotency_conflict", reason: "seqno_conflict" });
      expect(world.backend.answers).toHaveLength(1);
      const second = await again(world, names, "0").until(({ chunks }) => chunks.length > 0);
      expect(second.welcome?.facts?.highestSeqno).toBe(0);
    });

    test("R7, R9: numbers its events so that they sort as text, and replays calls as well", async () => {
      const { world, names, first } = await whole(tier);
      const ids = idsOf(first);
      expect(ids).toEqual([...ids].sort());
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.every((id) => id > "0")).toBe(true);
      const kinds = first.chunks.map(({ response, streamEnd }) => (streamEnd ? "end" : response.case));
      expect(kinds).toContain("clientSideToolV2Call");
      const beforeCall = ids[kinds.indexOf("clientSideToolV2Call") - 1] ?? "";
      const second = again(world, names, beforeCall);
      await second.ended;
      expect(second.chunks[0]?.response.value).toMatchObject({
        toolCallId: "c1",
        name: "look",
        rawArgs: '{"at":"x"}',
        tool: 19,
      });
    });

    test("R8: continues after any cursor with the same bytes, and nothing else", async () => {
      const { world, names, first } = await whole(tier);
      const all = first.chunks.map(bytesOf);
      for (const [index, cursor] of ["0", ...idsOf(first)].entries()) {
        const later = again(world, names, cursor).endInput();
        await later.ended;
        expect(later.chunks.map(bytesOf)).toEqual(all.slice(index));
      }
    });

    test("ends once, with the count and the digest of all events before", async () => {
      const { first } = await whole(tier);
      let chain: Uint8Array = new Uint8Array(0);
      for (const chunk of first.chunks.slice(0, -1)) chain = chainDigest(chain, toBinary(ServerChunkSchema, chunk));
      expect(first.end).toMatchObject({
        outcome: StreamEnd_Outcome.FINISHED,
        reason: "stop",
        eventCount: first.chunks.length - 1,
      });
      expect(Buffer.from(first.end?.chainDigest ?? [])).toEqual(Buffer.from(chain));
      expect(first.chunks.filter(({ streamEnd }) => streamEnd !== undefined)).toHaveLength(1);
      expect(first.text).toBe("Let me look.It is there.");
    });

    test("R10: continues while no client is attached", async () => {
      const { world, names, first } = await begun(tier);
      await first.cut();
      world.backend.last.text("Nobody ", "reads");
      world.backend.last.finish("Nobody reads");
      const second = again(world, names, idsOf(first).at(-1) ?? "0");
      expect(await second.ended).toBeUndefined();
      expect(second.text).toBe("Nobody reads");
    });

    test("R11: takes an abort without a number on another connection, more than once, and after the end", async () => {
      const { world, names, first } = await begun(tier);
      world.backend.last.text("Half");
      await first.until(({ text }) => text === "Half");
      await first.cut();
      const aborting = again(world, names, "0").send(say.abort()).endInput();
      const ended = await aborting.ended;
      expect(aborting.end).toMatchObject({ outcome: StreamEnd_Outcome.CANCELLED, reason: "client" });
      expect(detailsOf(ended).number).toBe(21);
      expect(aborting.acks).not.toContain(1);
      for (const message of [say.abort(), say.close(), say.abort()]) {
        const late = again(world, names, "0").send(message).endInput();
        await late.ended;
        expect(late.chunks.map(bytesOf)).toEqual(aborting.chunks.map(bytesOf));
      }
    });

    test("takes a numbered abort, acknowledges it, and stops the model", async () => {
      const { world, first } = await begun(tier);
      const running = world.backend.last;
      first.send(say.abort(1));
      await first.ended;
      expect(first.acks).toEqual([0, 1]);
      expect(running.closed).toBe(true);
      expect(first.end?.outcome).toBe(StreamEnd_Outcome.CANCELLED);
    });

    test("continues with the next answer once every call of the last has its result", async () => {
      const { world, first, names } = await begun(tier);
      world.backend.last.emit(call("c1"), call("c2"), calls);
      world.backend.last.end();
      await first.until(
        ({ chunks }) => chunks.filter(({ response }) => response.case === "clientSideToolV2Call").length === 2,
      );
      first.send(say.failedResult("c2", "no such file", 1));
      await first.until(({ acks }) => acks.includes(1));
      expect(world.backend.answers).toHaveLength(1);
      first.send(say.result("c1", "seen", 2));
      await asked(world, 2);
      const [running] = await world.store.listRunning();
      const clientKey = new Secret(names.encryptionKey);
      const turn = running && (await world.store.get(running.turnId, { clientKey }));
      expect(turn?.request.messages.slice(1)).toMatchObject([
        { role: "assistant", toolCalls: [{ callId: "c1" }, { callId: "c2" }] },
        { role: "tool", callId: "c1", isError: false, parts: [{ text: "seen" }] },
        { role: "tool", callId: "c2", isError: true, parts: [{ text: "no such file" }] },
      ]);
      world.backend.last.finish("");
      expect(await first.ended).toBeUndefined();
      expect(first.acks).toEqual([0, 1, 2]);
    });

    test("R9: takes the result of a call that was shown again, under a new number, and continues as if it had not come", async () => {
      const { world, names, first } = await begun(tier);
      const callsOf = ({ chunks }: RawAttach) =>
        chunks.filter((c) => c.response.case === "clientSideToolV2Call").length;
      world.backend.last.emit({ type: "text", delta: "Let me look." }, call("c1"), calls);
      world.backend.last.end();
      await first.until((it) => callsOf(it) === 1);
      const cursor = first.chunks.find(({ response }) => response.case === "streamUnifiedChatResponse")?.eventId ?? "";
      first.send(say.result("c1", "seen", 1));
      await first.until(({ acks }) => acks.includes(1));
      await first.cut();
      // An original client's cursor waits at the text, so that it is shown the call again: it has kept the result, and gives it again.
      const second = await again(world, names, cursor).until((it) => callsOf(it) === 1);
      second.send(say.result("c1", "seen", 2));
      await second.until(({ acks }) => acks.includes(2)); // while the next answer runs
      await asked(world, 2);
      world.backend.last.emit(call("c2"), calls);
      world.backend.last.end();
      await second.until((it) => callsOf(it) === 2);
      second.send(say.result("c1", "something else", 3), say.result("c2", "seen too", 4));
      await asked(world, 3);
      world.backend.last.finish("Done");
      expect(await second.ended).toBeUndefined();
      expect(second.acks).toEqual([2, 3, 4]);
      expect(second.text).toBe("Done");
    });

    test("holds a result that comes before its answer is complete; an abort behind it does not wait", async () => {
      const { world, first } = await begun(tier);
      world.backend.last.emit(call("c1"));
      await first.until(({ chunks }) => chunks.some(({ response }) => response.case === "clientSideToolV2Call"));
      first.send(say.result("c1", "seen", 1), say.abort(2));
      await first.ended;
      expect(first.end?.outcome).toBe(StreamEnd_Outcome.CANCELLED);
      expect(first.acks).toEqual([0, 1, 2]);
      expect(world.backend.answers).toHaveLength(1);
    });

    test("ends when the client closes and its calls have no results", async () => {
      const { world, names, first } = await begun(tier);
      first.send(say.close(1));
      await first.until(({ acks }) => acks.includes(1));
      world.backend.last.emit(call("c1"), calls);
      world.backend.last.end();
      expect(await first.ended).toBeUndefined();
      expect(first.end).toMatchObject({ outcome: StreamEnd_Outcome.FINISHED, reason: "tool_calls" });
      const later = again(world, names, "0").endInput();
      await later.ended;
      expect(later.chunks.map(bytesOf)).toEqual(first.chunks.map(bytesOf));
    });
  });

  describeAttaches(tier);
}
