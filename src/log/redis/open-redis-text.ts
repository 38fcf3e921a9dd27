import { createClient, RESP_TYPES } from "redis";
import { redisClientOptions } from "./client-options.ts";
import { askedOfRedis } from "./redis-errors.ts";
import { Replicas } from "./replicas.ts";

/** One small text that several machines change. Every method throws `degraded` while the server cannot be reached. */
export interface SharedText {
  /** Undefined where nobody has written it. */
  read(): Promise<Uint8Array | undefined>;
  /** Writes the text if the stored one is still `before`; returns whether it was. Replicas that keep up have the text then. */
  replace(before: Uint8Array | undefined, after: Uint8Array): Promise<boolean>;
  close(): Promise<void>;
}

export interface RedisTextOptions {
  /** As `RedisLogOptions` has it. */
  readonly url: string;
  readonly prefix?: string;
  readonly name: string;
}

const replaceScript = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1`;

const asBuffers = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } } as const;

/** Resolves once the server answers, or has failed for the first time; then the connection is tried again in the background. */
export async function openRedisText({ url, prefix = "millrace:", name }: RedisTextOptions): Promise<SharedText> {
  const client = createClient(redisClientOptions(url));
  const failedOnce = new Promise<void>((resolve) => client.once("error", () => resolve()));
  client.on("error", () => undefined); // every command that it costs fails for itself
  const connecting = client.connect().then(
    () => undefined,
    () => undefined, // as above
  );
  await Promise.race([connecting, failedOnce]);
  const key = `${prefix}${name}`;
  const send = (words: readonly (string | Uint8Array)[]) =>
    client.sendCommand(
      words.map((word) => (typeof word === "string" ? word : Buffer.from(word))),
      asBuffers,
    );
  const replicas = new Replicas({ sendCommand: send });
  return {
    read: () => askedOfRedis(async () => ((await send(["GET", key])) as unknown as Buffer | null) ?? undefined), // redis.io, GET
    replace: (before, after) =>
      askedOfRedis(async () => {
        await replicas.look();
        const done = await send(["EVAL", replaceScript, "1", key, before ?? "", after]);
        await replicas.follow();
        return Number(done) === 1;
      }),
    async close() {
      client.destroy();
      await connecting;
    },
  };
}
