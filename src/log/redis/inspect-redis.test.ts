import { expect, test } from "vitest";
import { redisInstalled, redisServer, redisServerOnPort } from "../../../test/support/redis.ts";
import { systemClock } from "../../base/clock.ts";
import { inspectRedis } from "./inspect-redis.ts";

test.skipIf(!redisInstalled)(
  "a server that keeps changes in memory alone is told from one that writes them",
  async () => {
    expect(await inspectRedis((await redisServer()).url, systemClock)).toEqual([]);
    expect(await inspectRedis(`redis://127.0.0.1:${await redisServerOnPort()}`, systemClock)).toEqual([
      "not_persistent",
    ]);
  },
);
