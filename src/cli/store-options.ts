import { choice, redisAddress } from "./options.ts";

/** The options for a gateway's store. Commands that read the store without a gateway have the same options. */
export const storeOptions = {
  store: choice(
    "where answers are stored: in a file, on a Redis server that several gateways share, or in memory only",
    ["sqlite", "redis", "memory"],
    "sqlite",
    { env: "MILLRACE_STORE" },
  ),
  redisUrl: redisAddress("address of the server for --store redis; put a password into the variable, not here", {
    env: "MILLRACE_REDIS_URL",
  }),
} as const;
