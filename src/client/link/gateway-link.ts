import { MillraceError } from "../../base/errors.ts";
import type { Tier, TierName } from "../tiers/tier.ts";
import { TierChoice } from "../tiers/tier-choice.ts";

/** The same for every copy of this package. */
const opened: unique symbol = Symbol.for("millrace.gateway-link");

/** The way to one gateway, with everything learned about that way. Make one for each gateway and share it among its streams. */
export interface GatewayLink {
  readonly [opened]: unknown;
}

/** The content of a link that `openLink` made. */
export function openedBy(link: GatewayLink): TierChoice {
  return link[opened] as TierChoice; // as `openLink` put it there; its type would bring the protocol's messages into the public types
}

/** The address and the key of a gateway. */
export interface GatewayAddress {
  /** Its origin: `http://127.0.0.1:42100`. */
  readonly url: string;
  /** The key that `millrace keys --value` prints. */
  readonly key: string;
}

/** The gateway's origin, for the transports. Throws `invalid_request` for a bad address, and if the key is missing. */
export function baseUrlOf({ url, key }: GatewayAddress): string {
  if (key.trim() === "")
    throw new MillraceError("invalid_request", "The gateway's key is empty.", {
      param: "key",
      hint: "`millrace keys --value` prints it.",
    });
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed !== undefined && /^https?:$/.test(parsed.protocol)) return url;
  throw new MillraceError("invalid_request", `The gateway's address is not a URL: ${JSON.stringify(url)}.`, {
    param: "url",
    hint: "Give it as `millrace serve` prints it, without a path: http://127.0.0.1:42100.",
  });
}

/** A link over the given tiers, best first. Throws `invalid_request` where none is left. */
export function openLink(tiers: readonly Tier[], { tiers: wanted }: LinkOptions = {}): GatewayLink {
  return { [opened]: new TierChoice(tiers.filter(({ name }) => wanted === undefined || wanted.includes(name))) };
}

export interface LinkOptions {
  /** The name of your program in the gateway's list of turns and in the usage by client: `my-app/1.2.0`. */
  readonly clientName?: string;
  /** Only these of the tiers that the runtime has; all of them by default, each where the ones before it do not work. */
  readonly tiers?: readonly TierName[];
}
