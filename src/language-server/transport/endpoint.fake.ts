import { Secret } from "../../base/secret.ts";
import type { Endpoint, WireProtocol } from "./endpoint.ts";

/** A server of a test or a benchmark, on loopback without TLS. */
export function fakeEndpoint(port: number, protocol: WireProtocol, token = "t"): Endpoint {
  return { variant: "windsurf", host: "127.0.0.1", port, tls: false, protocol, csrfToken: new Secret(token) };
}
