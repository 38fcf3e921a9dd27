import { createConnectTransport } from "@connectrpc/connect-web";
import { openPollTier, openSseTier } from "../tiers/tier.ts";
import { baseUrlOf, type GatewayAddress, type GatewayLink, type LinkOptions, openLink } from "./gateway-link.ts";
import { linkHeaders } from "./link-headers.ts";

/**
 * The way to a gateway with `fetch`, as browsers have it: no call goes both ways there, so the stream comes down in one and
 * messages go up in others. The gateway must allow the page's origin. Throws `invalid_request` for an address that is no URL.
 */
export function webLink(
  gateway: GatewayAddress,
  options: LinkOptions & { readonly fetch?: typeof globalThis.fetch } = {},
): GatewayLink {
  const transport = createConnectTransport({
    baseUrl: baseUrlOf(gateway),
    useBinaryFormat: true,
    interceptors: [linkHeaders(gateway.key, options.clientName)],
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  });
  return openLink([openSseTier(transport), openPollTier(transport)], options);
}
