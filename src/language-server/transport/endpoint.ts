import { MillraceError } from "../../base/errors.ts";
import type { Secret } from "../../base/secret.ts";

/** How bytes travel to a language server: gRPC over HTTP/2, Connect with binary or JSON bodies over HTTP/1.1. */
export type WireProtocol = "grpc" | "connect" | "connect-json";

/** The products that prompts go to, in order of preference. */
export const promptedVariants = ["windsurf", "windsurf-next"] as const;

/** All products, in order of preference. Antigravity speaks a fork of the schema and is metered only. */
export const ideVariants = [...promptedVariants, "antigravity"] as const;

/** Which product a server belongs to. */
export type IdeVariant = (typeof ideVariants)[number];

/** One language server, as found and probed. The port is on 127.0.0.1 unless the user configured another address. */
export interface Endpoint {
  readonly variant: IdeVariant;
  readonly host: string;
  readonly port: number;
  /** TLS with a self-signed certificate, accepted for loopback only. */
  readonly tls: boolean;
  readonly protocol: WireProtocol;
  readonly csrfToken: Secret;
}

/** The IDE's fields in `Metadata`, beside the API key. Source: docs/dev/wire/language-server.md, "Metadata". */
export interface IdeIdentity {
  readonly variant: IdeVariant;
  /** From `--windsurf_version`; empty without it. */
  readonly ideVersion: string;
  readonly extensionVersion: string;
  readonly extensionPath: string;
  readonly apiKey: Secret;
}

/** Whether a host is this machine's loopback: 127.0.0.0/8, `::1`, `localhost`. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** The host as sockets take it: an IPv6 address without brackets. */
export function hostName(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}

/** The error of a call over a connection that was closed here. */
export function closedHere(cause?: unknown): MillraceError {
  return new MillraceError("cancelled", "The connection to the IDE's server has been closed.", { cause });
}

/** Scheme, host and port, with IPv6 addresses in brackets. */
export function baseUrl(endpoint: Pick<Endpoint, "host" | "port" | "tls">): string {
  const host = endpoint.host.includes(":") && !endpoint.host.startsWith("[") ? `[${endpoint.host}]` : endpoint.host;
  return `${endpoint.tls ? "https" : "http"}://${host}:${endpoint.port}`;
}
