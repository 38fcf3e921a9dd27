import { createConnectTransport } from "@connectrpc/connect-web";
import { type GatewayAddress, type GatewayLink, type LinkOptions, openLink } from "./gateway-link.ts";
import { linkHeaders } from "./link-headers.ts";
import { openPollTier } from "./poll-tier.ts";
import { openSseTier } from "./sse-tier.ts";

/**
 * The way to a gateway with `fetch`, as browsers have it: no call goes both ways there, so the stream comes down in one and
 * messages go up in others. The gateway must allow the page's origin.
 */
export function webLink(
  gateway: GatewayAddress,
  options: LinkOptions & { readonly fetch?: typeof globalThis.fetch } = {},
): GatewayLink {
  const transport = createConnectTransport({
    baseUrl: gateway.url,
    useBinaryFormat: true,
    interceptors: [linkHeaders(gateway.key, options.clientName)],
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  });
  return openLink([openSseTier(transport), openPollTier(transport)], options);
}
