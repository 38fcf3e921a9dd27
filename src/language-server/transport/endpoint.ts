import type { Secret } from "../../base/secret.ts";

/** How bytes travel to a language server: gRPC over HTTP/2, Connect with binary or JSON bodies over HTTP/1.1. */
export type WireProtocol = "grpc" | "connect" | "connect-json";

/** Which product a server belongs to. Antigravity speaks a fork of the schema and is metered only. */
export type IdeVariant = "windsurf" | "windsurf-next" | "antigravity";

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

/** The IDE's fields in `Metadata`, beside the API key. Source: docs/wire/language-server.md, "Metadata". */
export interface IdeIdentity {
  readonly variant: IdeVariant;
  /** From `--windsurf_version`; empty without it. */
  readonly ideVersion: string;
  readonly extensionVersion: string;
  readonly extensionPath: string;
  readonly apiKey: Secret;
}
