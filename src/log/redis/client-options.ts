const connectTimeoutMs = 2_000;

/** How a client of the package `redis` reaches that server. While the connection is gone every command fails at once. */
export function redisClientOptions(url: string) {
  const path = url.startsWith("unix:") ? url.slice("unix:".length) : undefined;
  return {
    ...(path === undefined ? { url } : {}),
    socket: { ...(path === undefined ? {} : { path }), connectTimeout: connectTimeoutMs },
    disableOfflineQueue: true,
  } as const;
}
