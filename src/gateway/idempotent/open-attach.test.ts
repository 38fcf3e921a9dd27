import { expect, it } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { parseAttach } from "./attach-headers.ts";
import { AttachOrder } from "./attach-order.ts";
import { openAttach, type StreamParts } from "./open-attach.ts";
import { headersOf, newNames } from "./stream-world.fake.ts";

it("takes nothing over for a client that has left again", async () => {
  let attached = 0;
  const streams = {
    attach: () => {
      attached++;
      return Promise.reject(new Error("taken over"));
    },
  };
  const order = new AttachOrder(systemClock);
  const parts = { streams, order, quotas: { attach: () => () => {} } } as unknown as StreamParts; // nothing else is reached
  const ask = parseAttach(new Headers(headersOf(newNames())), "caller");
  const here = new AbortController();
  await expect(openAttach(parts, ask, { waitsForGaps: false }, here.signal)).rejects.toThrow("taken over");
  here.abort(new Error("left"));
  await expect(openAttach(parts, ask, { waitsForGaps: false }, here.signal)).rejects.toThrow("left");
  expect(attached).toBe(1);
});
