import { createClient } from "redis";
import type { Clock } from "../../base/clock.ts";
import type { StoreWeakness } from "../weakness.ts";
import { redisClientOptions } from "./client-options.ts";
import { Replicas } from "./replicas.ts";

/** Replicas tell each second how far they are. So one that has told nothing new for this long is behind; ms. A row of docs/retries.md. */
const patienceMs = 2_000;
const askEveryMs = 100;

type Send = (words: string[]) => Promise<unknown>;

/** Finds the reasons why this server may lose an acknowledged write. Only reads: nothing is written to the server. */
export async function inspectRedis(url: string, clock: Clock): Promise<readonly StoreWeakness[]> {
  const client = createClient(redisClientOptions(url));
  client.on("error", () => undefined); // what it costs is not known then
  const send: Send = (words) => client.sendCommand(words);
  let found: readonly StoreWeakness[] = [];
  try {
    await client.connect();
    await new Replicas({ sendCommand: client.sendCommand.bind(client) }, (each) => (found = each)).look();
    // Servers differ in what WAIT means on a connection that wrote nothing: Valkey 8 then waits for nothing.
    if (!found.includes("replica_behind") && (await isBehind(send, clock))) found = ["replica_behind", ...found];
  } finally {
    client.destroy();
  }
  return found;
}

/** Whether a replica lacks something that the server had when this began. False where this user may not ask. */
async function isBehind(send: Send, clock: Clock): Promise<boolean> {
  const { signal } = new AbortController();
  try {
    const [, written] = (await send(["ROLE"])) as [unknown, unknown]; // redis.io, ROLE
    for (let waitedMs = 0; waitedMs <= patienceMs; waitedMs += askEveryMs) {
      const [, , replicas] = (await send(["ROLE"])) as [unknown, unknown, unknown];
      if (!Array.isArray(replicas)) return false; // a replica itself
      if (replicas.every(([, , reached]: readonly unknown[]) => Number(reached) >= Number(written))) return false;
      await clock.sleep(askEveryMs, signal);
    }
    return true;
  } catch {
    return false;
  }
}
