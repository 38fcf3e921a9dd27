import type { KeyObject } from "node:crypto";
import { MillraceError } from "../../base/errors.ts";
import type { Secret } from "../../base/secret.ts";
import type { SharedText } from "../../log/redis/open-redis-text.ts";
import { open, seal } from "../../log/sealing/box.ts";
import { deriveKey, parseKey } from "../../log/sealing/keys.ts";
import { decodeKeys, encodeKeys, type KeyRecord } from "./key-record.ts";
import type { KeyStore } from "./key-store.ts";

const boundTo = "issued keys";

/**
 * Keys in a text that gateways share, sealed under the key of their log. Who can write to the store, and has no log key, can make no key
 * that a gateway lets in.
 */
export function openSealedKeys(text: SharedText, logKey: () => Promise<Secret>): KeyStore {
  let last: { readonly box: Uint8Array; readonly keys: readonly KeyRecord[] } | undefined;
  const sealing = async () => deriveKey(parseKey(await logKey()), "keys");
  const opened = (key: KeyObject, box: Uint8Array | undefined): readonly KeyRecord[] => {
    if (box === undefined) return [];
    if (last !== undefined && Buffer.compare(last.box, box) === 0) return last.keys;
    const content = open(key, box, boundTo);
    if (content === undefined) throw sealedOtherwise();
    last = { box, keys: decodeKeys(Buffer.from(content).toString("utf8")) };
    return last.keys;
  };
  return {
    read: async () => opened(await sealing(), await text.read()),
    async change(change) {
      const key = await sealing();
      for (;;) {
        const before = await text.read();
        const keys = change(opened(key, before));
        if (await text.replace(before, seal(key, Buffer.from(encodeKeys(keys)), boundTo))) return keys;
      }
    },
    close: () => text.close(),
  };
}

function sealedOtherwise(): MillraceError {
  return new MillraceError("degraded", "The keys in the shared store cannot be read with this machine's log key.", {
    hint: "Copy `log-key` from a machine whose gateway can read them, or let MILLRACE_LOG_KEY_FILE name one file for all.",
  });
}
