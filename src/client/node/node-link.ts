import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { openBidiTier } from "../bidi-tier.ts";
import { type GatewayAddress, type GatewayLink, type LinkOptions, openLink } from "../gateway-link.ts";
import { withKey } from "../key-header.ts";
import { openPollTier } from "../poll-tier.ts";
import { openSseTier } from "../sse-tier.ts";

/** The way from Node or Bun to a gateway: all three tiers, the first over HTTP/2 and the others over HTTP/1.1. */
export function nodeLink(gateway: GatewayAddress, options: LinkOptions = {}): GatewayLink {
  const interceptors: Interceptor[] = [withKey(gateway.key)];
  const h2 = createConnectTransport({ baseUrl: gateway.url, httpVersion: "2", interceptors });
  const h1 = createConnectTransport({ baseUrl: gateway.url, httpVersion: "1.1", interceptors });
  return openLink([openBidiTier(h2), openSseTier(h1), openPollTier(h1)], options);
}
