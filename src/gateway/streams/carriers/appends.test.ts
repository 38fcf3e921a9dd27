import { create } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import { StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema } from "../../../proto/aiserver/v1/chat_pb.ts";
import { Bodies } from "../../http/body.ts";
import { Appends, defaultLimits, type WayUp } from "./appends.ts";

const megabyte = 1024 * 1024;
const bodies = new Bodies(megabyte);
const caller = { digest: "caller", memory: () => bodies.memory(true) };

function begin(limits: Partial<typeof defaultLimits> = {}) {
  const clock = new FakeClock();
  const appends = new Appends(clock, { ...defaultLimits, ...limits });
  const append = (requestId: string, seqno: number, bytes = 10) =>
    appends.append(caller, requestId, {
      seqno: BigInt(seqno),
      message: create(ClientMessageSchema, { seqno, request: { case: "close", value: {} } }),
      bytes,
    });
  return { clock, appends, append };
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
    const { appends, append } = begin();
    append("a", 0);
    expect(await take(appends.claim(caller, "a"), 1)).toEqual([0]);
    const later = appends.claim(caller, "b");
    const taken = take(later, 1);
    append("b", 0);
    expect(await taken).toEqual([0]);
    expect(appends.unclaimed).toBe(0);
  });

  test("never meet those of another caller", async () => {
    const { appends, append } = begin();
    append("a", 0);
    const stranger = appends.claim({ ...caller, digest: "somebody else" }, "a");
    stranger.end();
    expect(await take(stranger, 1)).toEqual([]);
    expect(appends.unclaimed).toBe(1);
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
        const { appends, append } = begin();
        const up = appends.claim(caller, "a");
        for (const seqno of order) append("a", seqno);
        expect(await take(up, order.length)).toEqual([...order].sort((a, b) => a - b));
        append("a", 0); // again: the number inside decides
        expect(await take(up, 1)).toEqual([0]);
      }),
    );
  });

  test("wait 5 minutes for their way down, and then are forgotten", async () => {
    const { appends, append, clock } = begin();
    append("a", 0);
    await clock.advance(299_000);
    expect(appends.unclaimed).toBe(1);
    await clock.advance(1_000);
    expect(appends.unclaimed).toBe(0);
  });

  test("are refused once their attach is over, for 5 minutes", async () => {
    const { appends, append, clock } = begin();
    appends.claim(caller, "a").end();
    expect(() => append("a", 0)).toThrow(/attach is over/);
    await clock.advance(300_001);
    append("a", 0);
    expect(appends.unclaimed).toBe(1);
  });

  test("may begin anew under their id once the way down has ended", async () => {
    const { appends, append } = begin();
    const first = appends.claim(caller, "a");
    append("a", 0);
    expect(await take(first, 1)).toEqual([0]);
    first.end();
    const second = appends.claim(caller, "a");
    append("a", 0);
    expect(await take(second, 1)).toEqual([0]);
  });

  test("have one way down", () => {
    const { appends } = begin();
    appends.claim(caller, "a");
    expect(() => appends.claim(caller, "a")).toThrow(/open already/);
  });

  test("hold no more than the limits say", () => {
    const { append } = begin({ mostAppends: 2, mostUnclaimed: 2 });
    append("a", 0);
    append("a", 1);
    expect(() => append("a", 2)).toThrow(/Too much/);
    append("b", 0);
    expect(() => append("c", 0)).toThrow(/Too much/);
  });

  test("count with all bodies until they are worked on, or forgotten", async () => {
    const { appends, append, clock } = begin();
    append("a", 0, 100 * megabyte);
    expect(() => append("b", 0, 100 * megabyte)).toThrow(/too many large bodies/);
    await clock.advance(300_001);
    append("b", 0, 100 * megabyte);
    const up = appends.claim(caller, "b");
    const messages = up.messages();
    await messages.next();
    expect(() => append("c", 0, 100 * megabyte)).toThrow(/too many large bodies/);
    void messages.next();
    append("c", 0, 100 * megabyte);
    appends.claim(caller, "c").end();
    append("d", 0, 100 * megabyte);
  });
});
