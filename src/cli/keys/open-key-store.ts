import type { Secret } from "../../base/secret.ts";
import { loadRedisText } from "../../log/redis/load-redis-log.ts";
import { openLogKey } from "../../log/sealing/log-key.ts";
import type { RedisAddress } from "../compose/redis-address.ts";
import type { KeyStore } from "./key-store.ts";
import { openKeysFile } from "./keys-file.ts";
import { openSealedKeys } from "./sealed-keys.ts";
import { SharedKeys, type SharedKeysOptions } from "./shared-keys.ts";

export interface KeyStoreOptions extends Pick<SharedKeysOptions, "onState" | "onProblem"> {
  readonly keysFile: string;
  /** The key that seals the log; the shared keys are sealed with it too. */
  readonly logKeyFile: string;
}

/** Where the keys of this machine are kept: with a Redis server there, else in their file. */
export async function openKeyStore(
  options: KeyStoreOptions & { readonly redis: RedisAddress | undefined },
): Promise<KeyStore> {
  const { redis } = options;
  return redis === undefined ? openKeysFile(options.keysFile) : openSharedKeys({ ...options, redis });
}

/** Never waits for a server that does not answer. Throws `invalid_request` where its client is not installed. */
export async function openSharedKeys(options: KeyStoreOptions & { readonly redis: RedisAddress }): Promise<SharedKeys> {
  const { redis, keysFile: file, logKeyFile, onState, onProblem } = options;
  const openRedisText = await loadRedisText();
  const text = await openRedisText({ url: redis.url.reveal(), name: "keys" });
  let logKey: Promise<Secret> | undefined;
  const keyOnce = () => {
    logKey ??= openLogKey(logKeyFile);
    logKey.catch(() => (logKey = undefined)); // tried again at the next use
    return logKey;
  };
  return new SharedKeys({
    file,
    shared: openSealedKeys(text, keyOnce),
    ...(onState === undefined ? {} : { onState }),
    ...(onProblem === undefined ? {} : { onProblem }),
  });
}
