import { backgroundClient } from "./background-client.ts";
import type { CrashClient } from "./crash-client.ts";
import { killedClient } from "./killed-client.ts";
import { sseClients } from "./sse-client.ts";
import { streamClients } from "./stream-client.ts";

/** Every way of asking that a crash may not harm. */
export const crashClients: readonly CrashClient[] = [...sseClients, backgroundClient, ...streamClients, killedClient];
