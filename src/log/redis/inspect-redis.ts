import { createClient } from "redis";
import type { StoreWeakness } from "../weakness.ts";
import { redisClientOptions } from "./client-options.ts";
import { Replicas } from "./replicas.ts";

/** Finds the reasons why this server may lose an acknowledged write. Only reads: nothing is written to the server. */
export async function inspectRedis(url: string): Promise<readonly StoreWeakness[]> {
  const client = createClient(redisClientOptions(url));
  client.on("error", () => undefined); // what it costs is not known then
  let found: readonly StoreWeakness[] = [];
  try {
    await client.connect();
    await new Replicas({ sendCommand: client.sendCommand.bind(client) }, (each) => (found = each)).look();
  } finally {
    client.destroy();
  }
  return found;
}
