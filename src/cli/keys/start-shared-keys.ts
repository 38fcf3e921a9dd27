import type { Clock } from "../../base/clock.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { RedisAddress } from "../compose/redis-address.ts";
import type { KeyRecord } from "./key-record.ts";
import { openSharedKeys } from "./open-key-store.ts";

export interface StartOptions {
  readonly redis: RedisAddress;
  readonly keysFile: string;
  readonly logKeyFile: string;
  readonly clock: Clock;
  readonly log: GatewayLog;
}

/** Follows the keys of a shared store for a gateway. It has asked for them once when this resolves. */
export async function startSharedKeys(options: StartOptions): Promise<{
  readonly known: () => readonly KeyRecord[];
  close(): Promise<void>;
}> {
  const { log, clock } = options;
  const keys = await openSharedKeys({
    ...options,
    onState: (problem) =>
      problem === undefined
        ? log.write("info", "keys_shared", {})
        : log.write("error", "keys_not_shared", { why: `${problem.message} The keys that were known hold.` }),
    onProblem: ({ message }) => log.write("error", "keys_unusable", { why: message }),
  });
  await keys.tryExchange();
  const stopping = new AbortController();
  const following = keys.follow(clock, stopping.signal);
  return {
    known: () => keys.known,
    async close() {
      stopping.abort();
      await following;
      await keys.close();
    },
  };
}
