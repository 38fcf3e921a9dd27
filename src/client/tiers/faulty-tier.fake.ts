import { Code, ConnectError } from "@connectrpc/connect";
import type { Tier } from "./tier.ts";

/** Where the connection of one attach breaks: after so many messages in one direction. */
export interface Cut {
  readonly down?: number;
  readonly up?: number;
}

/** A tier whose nth attach (from 0) is cut at `cutOf(n)`; undefined means no cut. */
export function cutTier(tier: Tier, cutOf: (attach: number) => Cut | undefined): Tier {
  let attaches = 0;
  return {
    name: tier.name,
    async *attach(attach, signal) {
      const { down = Infinity, up = Infinity } = cutOf(attaches++) ?? {};
      const broken = new AbortController();
      async function* outgoing(until: AbortSignal) {
        let sent = 0;
        for await (const message of attach.outgoing(until)) {
          if (sent++ >= up) {
            broken.abort();
            return;
          }
          yield message;
        }
      }
      let received = 0;
      if (down === 0) throw lost();
      const both = AbortSignal.any([signal, broken.signal]);
      for await (const message of tier.attach({ ...attach, outgoing }, both)) {
        yield message;
        if (++received >= down) throw lost();
      }
    },
  };
}

const lost = () => new ConnectError("the connection was cut", Code.Aborted);
