import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import { MillraceError } from "../../../base/errors.ts";
import type { TurnId } from "../../../base/ids.ts";
import { idle } from "../../../base/wait.fake.ts";
import type { StreamName } from "../../../log/client-stream.ts";
import type { TurnRecord } from "../../../log/store.ts";
import {
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import type { Attachment, StreamTurns } from "../../../turns/attach/attachment.ts";
import { parseMessage } from "../../dialects/idempotent/client-message.ts";
import { type MessageInit, say } from "../raw-client.fake.ts";
import { Incoming } from "../rpc/incoming.ts";
import { AttachOrder } from "./attach-order.ts";
import { takesOver } from "./take-over.ts";

const name: StreamName = { caller: "caller", name: "stream", clientKey: undefined };

/** A stream whose request was accepted, with a turn that runs, and the attaches to it in the order in which they came. */
function stream() {
  const clock = new FakeClock();
  const order = new AttachOrder(clock);
  const cancelled: string[] = [];
  let isKept = true;
  let runs = true;
  let whileLookedAt = () => {};
  const streams: Pick<StreamTurns, "attach"> = {
    attach: async (_, intent) => {
      expect(intent).toBe("observe"); // nothing is ever taken over here
      whileLookedAt();
      if (!isKept) throw new MillraceError("expired", "There is no such stream.");
      const { payload } = parseMessage(create(ClientMessageSchema, say.request("Hello")));
      const accepted = [{ seqno: 0, payload, turnId: "turn-1" as TurnId }];
      const cancel = async (turnId: TurnId, by: string) => cancelled.push(`${turnId} by ${by}`) > 0;
      const get = async (turnId: TurnId) => ({ turnId, ended: !runs }) as TurnRecord; // nothing else of it is looked at
      return { accepted, cancel, get } as Partial<Attachment> as Attachment; // nor asked of this
    },
  };
  /** An attach that sends these messages and may leave; its fate is still open. */
  const come = (...said: readonly MessageInit[]) => {
    const place = order.come(name, undefined);
    const here = new AbortController();
    const leave = () => {
      place.letPass();
      here.abort(new Error("left"));
    };
    const begin = async () => takesOver(streams, { name, place, incoming: new Incoming(messages(said)) }, here.signal);
    return { place, leave, begin };
  };
  const onLook = (what: () => void) => void (whileLookedAt = what);
  return { clock, cancelled, come, onLook, forget: () => void (isKept = false), finish: () => void (runs = false) };
}

async function* messages(said: readonly MessageInit[]): AsyncGenerator<ClientMessage, void> {
  for (const init of said) yield create(ClientMessageSchema, init);
}

describe("an attach whose client has left", () => {
  test("takes nothing over when it brought nothing, and does not wait", async () => {
    const { come, clock } = stream();
    come();
    const late = come();
    late.leave();
    expect(await late.begin()).toBe(false);
    expect(clock.sleeping).toBe(0);
  });

  test.each([say.result("c1", "seen", 1), say.close(1), say.close(), say.abort(1), say.abort()])(
    "takes the stream over for its messages, if no other attach is connected: %j",
    async (said) => {
      const { come } = stream();
      const late = come(say.request("Hello"), said);
      late.leave();
      expect(await late.begin()).toBe(true);
    },
  );

  test("takes nothing over for what is stored already, since its client may be back, at another gateway", async () => {
    const { come } = stream();
    const late = come(say.request("Hello"));
    late.leave();
    expect(await late.begin()).toBe(false);
  });

  test("makes the stream of its request, where there is none", async () => {
    const { come, forget } = stream();
    forget();
    const late = come(say.request("Hello"));
    late.leave();
    expect(await late.begin()).toBe(true);
  });

  test("takes it over once the one before it has left, too", async () => {
    const { come } = stream();
    const before = come();
    const late = come(say.abort());
    const takes = late.begin();
    late.leave();
    await idle();
    before.leave();
    expect(await takes).toBe(true);
  });

  test.each([
    [[say.abort()], ["turn-1 by client"]],
    [[say.abort(1)], ["turn-1 by client"]],
    [[say.request("Hello"), say.abort()], ["turn-1 by client"]],
    [[say.request("Hello"), say.close(1)], []],
  ])(
    "while another attach stays ends the turn by an abort, and its other messages do not count: %j",
    async (said, ended) => {
      const { come, clock, cancelled } = stream();
      come();
      const late = come(...said);
      const takes = late.begin();
      late.leave();
      await idle();
      await clock.advance(249);
      expect(cancelled).toEqual([]);
      await clock.advance(1);
      expect(await takes).toBe(false);
      expect(cancelled).toEqual(ended);
    },
  );

  test.each([say.abort(), say.abort(1)])(
    "where another one stays and only a tool's result is waited for, ends the stream itself by an abort: %j",
    async (abort) => {
      const { come, clock, cancelled, finish } = stream();
      finish();
      come();
      const late = come(abort);
      const takes = late.begin();
      late.leave();
      await idle();
      await clock.advance(250);
      expect(await takes).toBe(true);
      expect(cancelled).toEqual([]);
    },
  );

  test("ends no turn of a later attach that took the stream over, while it waited or while it looked", async () => {
    for (const isSeen of [false, true]) {
      const { come, clock, cancelled, onLook } = stream();
      come();
      const late = come(say.abort());
      const later = come();
      const takes = late.begin();
      late.leave();
      await idle();
      if (isSeen) onLook(() => later.place.take());
      else later.place.take();
      await clock.advance(1_000);
      expect(await takes).toBe(false);
      expect(cancelled).toEqual([]);
    }
  });

  test("takes nothing over, also where it is alone, once a later one had the stream", async () => {
    for (const isSeen of [false, true]) {
      const { come, onLook } = stream();
      const late = come(say.abort());
      const later = come();
      late.leave();
      const take = () => {
        later.place.take();
        later.place.close();
      };
      if (isSeen) onLook(take);
      else take();
      expect(await late.begin()).toBe(false);
    }
  });
});

test("an attach whose client is connected takes the stream over from one that stays, after a moment", async () => {
  const { come, clock } = stream();
  come();
  const takes = come().begin();
  await clock.advance(250);
  expect(await takes).toBe(true);
});
