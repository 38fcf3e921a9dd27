import { createClient } from "redis";
import type { Clock } from "../../base/clock.ts";
import { redisClientOptions } from "../../log/redis/client-options.ts";
import { askedOfRedis } from "../../log/redis/redis-errors.ts";
import type { BudgetPeriod, SharedUsage, UsageNote } from "./shared-usage.ts";

export interface RedisUsageOptions {
  /** As `RedisLogOptions` has it. */
  readonly url: string;
  readonly prefix?: string;
  readonly clock: Pick<Clock, "now">;
  /** How many days notes are kept. */
  readonly keepDays: number;
}

const dayMs = 86_400_000;

/** A turn counts until its period is over, unless `ARGV[2]` turns count already. */
const holdScript = `
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then return 1 end
if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('PEXPIREAT', KEYS[1], ARGV[3])
return 1`;

/** Shared usage in Redis: a stream of notes, and a set of turns for each key and period. Opening never waits for the server. */
export function openRedisUsage({ url, prefix = "millrace:", clock, keepDays }: RedisUsageOptions): SharedUsage {
  const client = createClient(redisClientOptions(url));
  client.on("error", () => undefined); // every command that it costs fails for itself
  const connecting = client.connect().catch(() => undefined); // as above
  const notesKey = `${prefix}usage`;
  const budgetKey = ({ keyId, sinceMs }: BudgetPeriod) => `${prefix}budget:${keyId}:${sinceMs}`;
  return {
    add: (notes) =>
      askedOfRedis(async () => {
        const threshold = clock.now() - keepDays * dayMs;
        const TRIM = { strategy: "MINID", strategyModifier: "~", threshold } as const;
        await Promise.all(notes.map((note) => client.xAdd(notesKey, "*", { note: JSON.stringify(note) }, { TRIM })));
      }),
    after: (cursor, limit) =>
      askedOfRedis(async () => {
        const entries = (await client.xRange(notesKey, `(${cursor}`, "+", { COUNT: limit })) ?? [];
        const notes = entries.map(({ message }) => JSON.parse(message["note"] ?? "{}") as UsageNote); // as `add` wrote them
        return { notes, cursor: entries.at(-1)?.id ?? cursor };
      }),
    hold: (period, turnId, most) =>
      askedOfRedis(async () => {
        const words = [turnId, String(most), String(period.untilMs)];
        return (await client.eval(holdScript, { keys: [budgetKey(period)], arguments: words })) === 1;
      }),
    withdraw: (period, turnId) => askedOfRedis(async () => void (await client.sRem(budgetKey(period), turnId))),
    held: (period) => askedOfRedis(() => client.sCard(budgetKey(period))),
    async close() {
      client.destroy();
      await connecting;
    },
  };
}
