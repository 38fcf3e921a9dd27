import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { loopbackAgent } from "../../base/node/loopback.ts";
import { baseUrlOf, type GatewayAddress, type GatewayLink, type LinkOptions, openLink } from "../link/gateway-link.ts";
import { linkHeaders } from "../link/link-headers.ts";
import { type OpenTier, openBidiTier, openPollTier, openSseTier, type Tier } from "../tiers/tier.ts";

/**
 * The way from Node or Bun to a gateway: all three tiers, the first over HTTP/2 and the others over HTTP/1.1. An address that
 * is a function is asked at each attach: so a gateway is found that came back on another port. Throws `invalid_request` for an
 * address that is no URL.
 */
export function nodeLink(
  gateway: GatewayAddress | ((signal: AbortSignal) => Promise<GatewayAddress>),
  options: LinkOptions = {},
): GatewayLink {
  linkHeaders("", options.clientName); // a bad name fails now, not at the first attach
  if (typeof gateway !== "function") baseUrlOf(gateway);
  const addressOf = typeof gateway === "function" ? gateway : () => Promise.resolve(gateway);
  const tiers = [tier("bidi", openBidiTier, "2"), tier("sse", openSseTier, "1.1"), tier("poll", openPollTier, "1.1")];
  return openLink(tiers, options);

  function tier(name: Tier["name"], open: OpenTier, httpVersion: "1.1" | "2"): Tier {
    let last: { readonly address: GatewayAddress; readonly transport: Transport } | undefined;
    return {
      name,
      async *attach(attach, signal) {
        const address = await addressOf(signal);
        if (last?.address.url !== address.url || last.address.key !== address.key) {
          const interceptors = [linkHeaders(address.key, options.clientName)];
          const baseUrl = baseUrlOf(address);
          const agent = httpVersion === "1.1" ? loopbackAgent(new URL(baseUrl)) : undefined; // HTTP/2 knows no proxy
          const transport =
            agent === undefined
              ? createConnectTransport({ baseUrl, httpVersion, interceptors })
              : createConnectTransport({ baseUrl, httpVersion: "1.1", interceptors, nodeOptions: { agent } });
          last = { address, transport };
        }
        yield* open(last.transport).attach(attach, signal);
      },
    };
  }
}
