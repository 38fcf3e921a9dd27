import { describe } from "vitest";
import { redisInstalled, redisServer } from "../../../test/support/redis.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { until } from "../../base/wait.fake.ts";
import { openRedisUsage } from "./redis-usage.ts";
import { describeSharedUsage } from "./shared-usage.conformance.ts";
import { memoryUsage } from "./shared-usage.fake.ts";

describeSharedUsage("memory", async () => {
  const open = memoryUsage();
  return { open: async () => open() };
});

describe.skipIf(!redisInstalled)("with a redis-server on PATH", () => {
  describeSharedUsage("Redis", async () => {
    const { url } = await redisServer();
    const clock = new FakeClock(Date.parse("2026-11-22T12:00:00Z"));
    return {
      async open() {
        const shared = openRedisUsage({ url, clock, keepDays: 400 });
        // It connects in the background: the first calls may come too early.
        await until(() => shared.after("0", 1).then(Boolean, () => false));
        return shared;
      },
    };
  });
});
