import type { Endpoint } from "./endpoint.ts";

/** Whether a host is this machine's loopback: 127.0.0.0/8, `::1`, `localhost`. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Scheme, host and port, with IPv6 addresses in brackets. */
export function baseUrl(endpoint: Pick<Endpoint, "host" | "port" | "tls">): string {
  const host = endpoint.host.includes(":") && !endpoint.host.startsWith("[") ? `[${endpoint.host}]` : endpoint.host;
  return `${endpoint.tls ? "https" : "http"}://${host}:${endpoint.port}`;
}
