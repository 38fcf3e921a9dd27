import { createClient } from "redis";
import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import type { StoreLifecycle } from "../lifecycle.ts";
import { clearCodec, type LogCodec } from "../medium/codec.ts";
import { openLog } from "../medium/open-log.ts";
import { Waiters } from "../medium/waiters.ts";
import { defaultRetention, type Retention } from "../retention.ts";
import type { LogStore } from "../store.ts";
import { redisClientOptions } from "./client-options.ts";
import { translateRedisError } from "./redis-errors.ts";
import { RedisMedium } from "./redis-medium.ts";

export interface RedisLogOptions {
  /** `redis://`, `rediss://`, or `unix:` and the path of a socket. May hold a password: never logged. */
  readonly url: string;
  /** The prefix of every key; gateways that share turns have the same one. */
  readonly prefix?: string;
  readonly clock: Clock;
  readonly codec?: LogCodec;
  readonly retention?: Retention;
  readonly events?: EventSink<StoreLifecycle>;
}

/**
 * A log in Redis, for several gateways that share turns. The connection is restored automatically; while it is lost every call throws
 * `degraded` at once.
 *
 * @throws MillraceError `degraded` when the server cannot be reached.
 */
export async function openRedisLog({
  url,
  prefix = "millrace:",
  clock,
  codec = clearCodec,
  retention = defaultRetention,
  events,
}: RedisLogOptions): Promise<LogStore> {
  const waiters = new Waiters<string>();
  const client = createClient(redisClientOptions(url));
  const listener = client.duplicate();
  for (const each of [client, listener]) {
    each.on("error", () => undefined); // each command that this error affects rejects on its own
  }
  try {
    await connectOnce(client);
    await connectOnce(listener);
    await listener.subscribe(`${prefix}wake`, (turnId) => waiters.wake(turnId));
  } catch (error) {
    client.destroy();
    if (listener.isOpen) listener.destroy();
    throw translateRedisError(error);
  }
  listener.on("ready", () => waiters.wakeAll()); // messages were missed while it was away, so all waiters look again
  const connection = {
    sendCommand: client.sendCommand.bind(client) as RedisMediumSend,
    close: async () => {
      listener.destroy();
      client.destroy();
    },
  };
  const medium = new RedisMedium(connection, prefix, waiters, (weaknesses) =>
    events?.emit("store_weakened", { weaknesses }),
  );
  return openLog({ medium, codec, clock, retention });
}

type RedisMediumSend = ConstructorParameters<typeof RedisMedium>[0]["sendCommand"];

/** The first connection fails at once, instead of being tried for ever. */
async function connectOnce(client: {
  once(event: "error", listener: (error: Error) => void): unknown;
  connect(): Promise<unknown>;
}): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    client.once("error", reject);
    client.connect().then(() => resolve(), reject);
  });
}
