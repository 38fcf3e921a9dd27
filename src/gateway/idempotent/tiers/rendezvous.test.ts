import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import { StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema } from "../../../proto/aiserver/v1/chat_pb.ts";
import { defaultRendezvous, Rendezvous, type RendezvousLimits, type WayUp } from "./rendezvous.ts";

const never = new AbortController().signal;

function begin(limits: Partial<RendezvousLimits> = {}) {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const rendezvous = new Rendezvous(clock, stopping.signal, { ...defaultRendezvous, ...limits });
  const append = (requestId: string, seqno: number, bytes = 10) =>
    rendezvous.append("caller", requestId, {
      headers: new Headers({ "x-at": String(seqno) }),
      seqno: BigInt(seqno),
      message: create(ClientMessageSchema, { seqno, request: { case: "close", value: {} } }),
      bytes,
    });
  return { clock, rendezvous, append };
}

async function take(up: WayUp, count: number): Promise<readonly (number | undefined)[]> {
  const got: (number | undefined)[] = [];
  const messages = up.messages();
  while (got.length < count) {
    const { value } = await messages.next();
    if (value === undefined) break;
    got.push(value.seqno);
  }
  return got;
}

describe("calls of one attach", () => {
  test("meet whichever comes first", async () => {
    const { rendezvous, append } = begin();
    append("a", 0);
    expect(await take(rendezvous.claim("caller", "a", never), 1)).toEqual([0]);
    const later = rendezvous.claim("caller", "b", never);
    const taken = take(later, 1);
    append("b", 0);
    expect(await taken).toEqual([0]);
    expect(rendezvous.unclaimed).toBe(0);
  });

  test("never meet those of another caller", async () => {
    const { rendezvous, append } = begin();
    append("a", 0);
    const stranger = rendezvous.claim("somebody else", "a", never);
    stranger.end();
    expect(await take(stranger, 1)).toEqual([]);
    expect(rendezvous.unclaimed).toBe(1);
  });

  test("are put in order, in any order of arrival and with repeats (P7)", async () => {
    const numbers = fc.nat({ max: 12 }).chain((count) =>
      fc.shuffledSubarray(
        Array.from({ length: count + 1 }, (_, seqno) => seqno),
        { minLength: count + 1 },
      ),
    );
    await fc.assert(
      fc.asyncProperty(numbers, async (order) => {
        const { rendezvous, append } = begin();
        const up = rendezvous.claim("caller", "a", never);
        for (const seqno of order) append("a", seqno);
        expect(await take(up, order.length)).toEqual([...order].sort((a, b) => a - b));
        append("a", 0); // again: the number inside decides
        expect(await take(up, 1)).toEqual([0]);
      }),
    );
  });

  test("wait 5 minutes for their way down, and then are forgotten", async () => {
    const { rendezvous, append, clock } = begin();
    append("a", 0);
    await clock.advance(299_000);
    expect(rendezvous.unclaimed).toBe(1);
    await clock.advance(1_000);
    expect(rendezvous.unclaimed).toBe(0);
  });

  test("give their first headers to a way down that has none, which waits 30 s for them", async () => {
    const { rendezvous, append, clock } = begin();
    const up = rendezvous.claim("caller", "a", never);
    const headers = up.firstHeaders();
    append("a", 0);
    expect((await headers).get("x-at")).toBe("0");
    expect(await take(up, 1)).toEqual([0]);
    const waiting = rendezvous.claim("caller", "b", never).firstHeaders();
    const refused = waiting.catch((error: unknown) => error);
    await clock.advance(30_000);
    expect(await refused).toMatchObject({ code: Code.Unavailable });
  });

  test("are refused once their attach is over, for 5 minutes", async () => {
    const { rendezvous, append, clock } = begin();
    rendezvous.claim("caller", "a", never).end();
    expect(() => append("a", 0)).toThrow(/attach is over/);
    await clock.advance(300_001);
    append("a", 0);
    expect(rendezvous.unclaimed).toBe(1);
  });

  test("still bring what comes a moment after the client of the way down left, and then no more", async () => {
    const { rendezvous, append, clock } = begin();
    const left = new AbortController();
    const up = rendezvous.claim("caller", "a", left.signal);
    const taken = take(up, 3);
    append("a", 0);
    left.abort();
    await clock.advance(249);
    append("a", 1);
    await clock.advance(1);
    expect(await taken).toEqual([0, 1]);
    const late = rendezvous.claim("caller", "b", left.signal);
    const refused = late.firstHeaders().catch((error: unknown) => error);
    await clock.advance(250);
    expect(await refused).toMatchObject({ code: Code.Unavailable });
  });

  test("may begin anew under their id once the client of the way down left", async () => {
    const { rendezvous, append } = begin();
    const left = new AbortController();
    const first = rendezvous.claim("caller", "a", left.signal);
    append("a", 0);
    left.abort();
    const second = rendezvous.claim("caller", "a", never);
    append("a", 1);
    expect(await take(first, 1)).toEqual([0]);
    first.end();
    append("a", 0);
    expect(await take(second, 2)).toEqual([0, 1]);
  });

  test("have one way down", () => {
    const { rendezvous } = begin();
    rendezvous.claim("caller", "a", never);
    expect(() => rendezvous.claim("caller", "a", never)).toThrow(/open already/);
  });

  test("hold no more than the limits say", () => {
    const { append } = begin({ mostAppends: 2, mostUnclaimed: 2, mostBytes: 100 });
    append("a", 0);
    append("a", 1);
    expect(() => append("a", 2)).toThrow(/Too much/);
    append("b", 0);
    expect(() => append("c", 0)).toThrow(/Too much/);
    expect(() => append("b", 1, 80)).toThrow(/Too much/);
  });
});
