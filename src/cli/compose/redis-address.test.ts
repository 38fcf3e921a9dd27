import { inspect } from "node:util";
import { expect, test } from "vitest";
import { parseRedisAddress } from "../options.ts";

test("an address is shown without its user and password", () => {
  const address = parseRedisAddress("rediss://someone:hunter2@db.example:6380/1");
  expect(address.shown).toBe("rediss://db.example:6380/1");
  expect(inspect(address) + JSON.stringify(address)).not.toContain("hunter2");
  expect(address.url.reveal()).toBe("rediss://someone:hunter2@db.example:6380/1");
});

test("a socket's path is an address", () => {
  expect(parseRedisAddress("unix:/run/redis.sock").shown).toBe("unix:/run/redis.sock");
});

test.each(["127.0.0.1:6379", "http://127.0.0.1:6379", "redis://", "unix:", "hunter2"])(
  "%s is none, and is not repeated in the error",
  (text) => {
    expect(() => parseRedisAddress(text)).toThrow(
      expect.objectContaining({ code: "invalid_request", message: "That is not the address of a Redis server." }),
    );
  },
);
