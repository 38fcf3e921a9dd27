import { isMillraceError } from "../../base/errors.ts";
import { openRedisRows } from "../../log/redis.ts";
import type { RedisAddress } from "../compose/redis-address.ts";
import type { StoreCheck } from "./check-store.ts";
import type { Finding } from "./finding.ts";

/** Whether the Redis server that gateways share their turns in answers. It reads nothing there. */
export async function checkRedis({ url, shown }: RedisAddress): Promise<StoreCheck> {
  const seen = { file: shown, bytes: 0, free_bytes: null };
  try {
    const rows = await openRedisRows({ url: url.reveal() });
    await rows.close();
    const answers: Finding = { area: "store", level: "ok", what: `The store ${shown} answers` };
    return { ...seen, state: "sound", findings: [answers] };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const what = `${error.message} (${shown})`;
    return { ...seen, state: "unreadable", findings: [{ area: "store", level: "error", what, todo: error.hint }] };
  }
}
