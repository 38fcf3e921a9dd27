import { toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import {
  StreamUnifiedChatResponseWithToolsSchema as ServerChunkSchema,
  StreamEnd_Outcome,
} from "../../proto/aiserver/v1/chat_pb.ts";
import { detailsOf, type RawAttach, say, type TierName } from "./raw-client.fake.ts";
import { asked, begun, bytesOf, call, calls, idsOf, whole } from "./stream-begun.fake.ts";
import { chainDigest } from "./stream-log.ts";
import {
  attach,
  headersOf,
  newNames,
  type StreamNames,
  type StreamWorld,
  sealedFileLog,
  streamWorld,
} from "./stream-world.fake.ts";

/**
 * The cases of `describeStream` for refusals and errors, the order of attaches and messages, observers, lists, and the stop of a
 * gateway.
 */
export function describeAttaches(tier: TierName): void {
  const again = (world: StreamWorld, names: StreamNames, cursor: string, more: Readonly<Record<string, string>> = {}) =>
    world.client.attach(tier, headersOf(names, cursor, more));

  describe(`a stream over tier ${tier}`, () => {
    test("R14: refuses a cursor of what it does not know, and one past the tail, before any data", async () => {
      const { world, names, first } = await begun(tier);
      const gone = again(world, newNames(), "a1.a3");
      expect(detailsOf(await gone.ended)).toMatchObject({ number: 39, info: { reason: "expired" } });
      const past = again(world, names, "a1.a9");
      expect(detailsOf(await past.ended).info).toMatchObject({ reason: "diverged" });
      const malformed = again(world, names, "17");
      expect(detailsOf(await malformed.ended)).toMatchObject({ number: 36, info: { code: "invalid_request" } });
      for (const refused of [gone, past, malformed]) expect(refused.messages).toHaveLength(0);
      const resumed = again(world, newNames(), "0", { "x-millrace-intent": "resume" });
      expect(detailsOf(await resumed.ended).info).toMatchObject({ reason: "expired" });
      expect(idsOf(first).length).toBeGreaterThan(0);
    });

    test("R15: says with details what another attach cannot mend, and without what it can", async () => {
      const world = await streamWorld();
      world.backend.missing = new MillraceError("ide_not_running", "No IDE runs.");
      const names = newNames();
      const refused = await attach(world, tier, names).send(say.request("Hello")).ended;
      expect(refused?.code).toBe(Code.Unavailable);
      expect(detailsOf(refused).info).toMatchObject({ code: "ide_not_running" });
      world.backend.missing = undefined;
      const first = attach(world, tier, names).send(say.request("Hello", 0, { tools: ["look"] }));
      await asked(world, 1);
      world.backend.last.emit(call("c1"), calls);
      world.backend.last.end();
      await first.until(({ chunks }) => chunks.some(({ response }) => response.case === "clientSideToolV2Call"));
      world.backend.missing = new MillraceError("ide_not_running", "The IDE restarts.");
      first.send(say.result("c1", "seen", 1));
      const passing = await first.ended;
      expect(passing?.code).toBe(Code.Unavailable);
      expect(detailsOf(passing).number).toBeUndefined();
      world.backend.missing = undefined;
      const second = again(world, names, idsOf(first).at(-1) ?? "0").send(say.result("c1", "seen", 1));
      await second.until(({ acks }) => acks.includes(1));
      await asked(world, 2);
    });

    test("reports a failed answer as the end of the stream, and then as an error", async () => {
      const { world, names, first } = await begun(tier);
      world.backend.last.emit({ type: "text", delta: "Half" });
      const error = new MillraceError("quota_exhausted", "The plan is used up.").toRecord();
      world.backend.last.emit({ type: "failed", error });
      world.backend.last.end();
      const ended = await first.ended;
      const errorHint = expect.stringMatching(
        /its name only gives this failure again\. .* as a new stream after 60 s\.$/,
      );
      expect(first.end).toMatchObject({ outcome: StreamEnd_Outcome.FAILED, errorCode: "quota_exhausted", errorHint });
      expect(detailsOf(ended).info).toMatchObject({ code: "quota_exhausted", hint: errorHint });
      const later = again(world, names, idsOf(first).at(-1) ?? "0");
      expect(detailsOf(await later.ended).info).toMatchObject({ code: "quota_exhausted", hint: errorHint });
    });

    test("R17: belongs to its newest attach; the older one gets the reason, and its messages are not taken", async () => {
      const { world, names, first } = await begun(tier);
      const second = await again(world, names, "0").until(({ chunks }) => chunks.length > 0);
      const closed = await first.ended;
      expect(closed?.code).toBe(Code.Aborted);
      expect(detailsOf(closed).info).toMatchObject({ reason: "superseded" });
      second.send(say.abort(1));
      await second.until(({ acks }) => acks.includes(1));
    });

    test.runIf(tier === "bidi")("R18: a message that skips a number is refused on an ordered connection", async () => {
      const { first } = await begun(tier);
      const refused = await first.send(say.close(2)).ended;
      expect(refused?.code).toBe(Code.OutOfRange);
      expect(detailsOf(refused).info).toMatchObject({ reason: "seqno_gap" });
    });

    test.runIf(tier !== "bidi")("R18: a message that comes before its turn waits for the missing one", async () => {
      const { first } = await begun(tier);
      await first.send(say.close(2), say.abort(1)).ended;
      expect(first.acks).toEqual([0, 1, 2]);
    });

    test("G11: spends a ticket with each attach, and accepts the last one until the next is used, since a welcome can be lost or come late", async () => {
      const { world, names, first } = await begun(tier);
      const ticketOf = ({ welcome }: RawAttach) => ({
        "x-millrace-ticket": Buffer.from(welcome?.facts?.nextTicket ?? []).toString("base64url"),
      });
      await first.cut();
      const second = await again(world, names, "0", ticketOf(first)).until(({ chunks }) => chunks.length > 0);
      await second.cut(); // its welcome was lost, as far as the client knows
      const third = await again(world, names, "0", ticketOf(first)).until(({ chunks }) => chunks.length > 0);
      const fourth = await again(world, names, "0", ticketOf(second)).until(({ chunks }) => chunks.length > 0);
      expect(detailsOf(await third.ended).info).toMatchObject({ reason: "superseded" });
      for (const captured of [again(world, names, "0", ticketOf(first)), again(world, names, "0", ticketOf(third))]) {
        const refused = await captured.ended;
        expect(detailsOf(refused)).toMatchObject({ number: 38, info: { reason: "ticket_spent" } });
        expect(captured.messages).toHaveLength(0);
      }
      expect(detailsOf(await fourth.ended).info).toMatchObject({ reason: "superseded" });
      const fifth = again(world, names, "0", ticketOf(fourth));
      await fifth.until(({ chunks }) => chunks.length > 0);
    });

    test("G10: refuses an attach whose digest at the cursor is another one", async () => {
      const { world, names, first } = await whole(tier);
      const cursor = idsOf(first)[2] ?? "";
      let chain: Uint8Array = new Uint8Array(0);
      for (const chunk of first.chunks.slice(0, 3)) chain = chainDigest(chain, toBinary(ServerChunkSchema, chunk));
      const good = again(world, names, cursor, { "x-millrace-chain": Buffer.from(chain).toString("base64url") });
      expect(await good.endInput().ended).toBeUndefined();
      expect(Buffer.from(good.welcome?.facts?.chainHead ?? [])).toEqual(Buffer.from(chain));
      const other = Buffer.from(chainDigest(chain, new Uint8Array())).toString("base64url");
      const forked = again(world, names, cursor, { "x-millrace-chain": other });
      expect(detailsOf(await forked.ended).info).toMatchObject({ reason: "diverged" });
      expect(forked.messages).toHaveLength(0);
    });

    test("lets observers read, who take nothing from the one who writes", async () => {
      const { world, names, first } = await begun(tier);
      const observer = again(world, names, "0", { "x-millrace-intent": "observe" });
      await observer.until(({ chunks }) => chunks.length > 0);
      expect(observer.welcome?.facts?.nextTicket).toHaveLength(0);
      world.backend.last.emit(call("c1"), calls);
      world.backend.last.end();
      await first.until(({ chunks }) => chunks.length > 2);
      first.send(say.result("c1", "seen", 1));
      await asked(world, 2);
      world.backend.last.finish("Done");
      expect(await first.ended).toBeUndefined();
      expect(await observer.ended).toBeUndefined();
      expect(observer.chunks.map(bytesOf)).toEqual(first.chunks.map(bytesOf));
      const meddling = again(world, names, "0", { "x-millrace-intent": "observe" }).send(say.abort());
      expect(detailsOf(await meddling.ended).info).toMatchObject({ reason: "observer" });
      const unknown = again(world, newNames(), "0", { "x-millrace-intent": "observe" });
      expect(detailsOf(await unknown.ended).info).toMatchObject({ reason: "expired" });
    });

    test("is listed with its state while it runs, without its texts for a reader that lacks its key", async () => {
      const world = await streamWorld();
      const started: string[] = [];
      world.events.on("turn_started", ({ turnId }) => started.push(turnId));
      const names = newNames();
      const first = attach(world, tier, names).send(say.request("a secret question"));
      await first.until(({ chunks }) => chunks.length > 0);
      const response = await world.fake.request("/v1/turns");
      const listed = await response.text();
      expect(JSON.parse(listed)).toMatchObject({
        data: [{ id: started[0], dialect: "idempotent", sealed: true, status: "running" }],
      });
      expect(listed).not.toContain("secret");
      const events = await world.fake.request(`/v1/turns/${started[0]}/events`);
      expect(events.status).toBe(403);
      expect(await events.json()).toMatchObject({
        error: { message: expect.stringContaining("encrypted"), hint: expect.stringContaining("/timeline") },
      });
      await world.fake.request(`/v1/turns/${started[0]}/cancel`, { method: "POST" });
      await first.ended;
      expect(first.end).toMatchObject({ outcome: StreamEnd_Outcome.CANCELLED });
    });

    test("survives a gateway that stops: the client is asked to reconnect, and gets the rest from another gateway", async () => {
      const { store } = await sealedFileLog(systemClock);
      const { world, names, first } = await begun(tier, { store });
      world.backend.last.text("Half");
      await first.until(({ text }) => text === "Half");
      await world.close();
      const told = await first.ended;
      expect(told).toBeDefined();
      expect(detailsOf(told).number).toBeUndefined();
      const next = await streamWorld({ store });
      await asked(next, 1);
      next.backend.last.text("Half", " an answer"); // a resumed backend gives the whole answer again
      next.backend.last.finish("Half an answer");
      const second = again(next, names, idsOf(first).at(-1) ?? "0");
      expect(await second.ended).toBeUndefined();
      expect(first.text + second.text).toBe("Half an answer");
    });
  });
}
