import type { RESP_TYPES } from "redis";

export interface RedisConnection {
  sendCommand(
    words: readonly (string | Buffer)[],
    options: { readonly typeMapping?: { readonly [RESP_TYPES.BLOB_STRING]: typeof Buffer } },
  ): Promise<unknown>;
  close(): Promise<void>;
}
