import { describe, expect, onTestFinished, test } from "vitest";
import { createKey, revokeKey, rotateKey } from "./change-keys.ts";
import type { KeyStore } from "./key-store.ts";

const free = { models: [], apis: [] };

/** The cases that every key store passes. `make` gives a new place; each `open` is another process's look at it. */
export function describeKeyStore(name: string, make: () => Promise<{ readonly open: () => Promise<KeyStore> }>): void {
  describe(`keys in ${name}`, () => {
    async function opened(count: number) {
      const place = await make();
      const stores = await Promise.all(Array.from({ length: count }, () => place.open()));
      onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
      return stores as [KeyStore, ...KeyStore[]]; // one at least
    }

    test("a key is made with 256 random bits, and every process sees it without its value", async () => {
      const [first, second = first] = await opened(2);
      expect(await first.read()).toEqual([]);
      const key = await createKey(first, "ci", free, 1);
      expect(key.reveal()).toMatch(/^mrk_[\w-]{43}$/);
      const seen = await second.read();
      expect(seen).toMatchObject([{ name: "ci", createdAtMs: 1 }]);
      expect(JSON.stringify(seen)).not.toContain(key.reveal().slice(4));
    });

    test("a name that works already, or that means somebody else, is refused; that of a revoked key is free", async () => {
      const [store] = await opened(1);
      await createKey(store, "ci", free, 1);
      await expect(createKey(store, "ci", free, 2)).rejects.toThrow(/a key called ci already/);
      for (const name of ["owner", "dashboard", "", "a b", "../x"])
        await expect(createKey(store, name, free, 2)).rejects.toThrow(/cannot be called/);
      await revokeKey(store, "ci", 3);
      await createKey(store, "ci", free, 4);
      expect((await store.read()).map(({ revokedAtMs }) => revokedAtMs)).toEqual([3, undefined]);
      await expect(revokeKey(store, "nobody", 5)).rejects.toThrow(/no key called "nobody"/);
    });

    test("a rotated key keeps its id and gets another hash", async () => {
      const [store] = await opened(1);
      await createKey(store, "ci", free, 1);
      const [before] = await store.read();
      await rotateKey(store, "ci");
      const [after] = await store.read();
      expect(after).toMatchObject({ id: before?.id, revision: 1 });
      expect(after?.hash).not.toBe(before?.hash);
    });

    test("changes of several processes at once lose no key", async () => {
      const stores = await opened(4);
      const names = Array.from({ length: 12 }, (_, i) => `key-${i}`);
      await Promise.all(names.map((name, i) => createKey(stores[i % 4] ?? stores[0], name, free, i)));
      const [store] = stores;
      expect((await store.read()).map(({ name }) => name).sort()).toEqual(names.sort());
    });
  });
}
