import type { CommandContext } from "../command.ts";
import type { GatewayCommandOptions } from "../serve/gateway-options.ts";
import { listenSomewhere } from "../serve/listen-somewhere.ts";
import { openComposed } from "../serve/open-composed.ts";
import { askConsent } from "./ask-consent.ts";
import { findGateway, type GatewayClient } from "./gateway-client.ts";
import { readOrMakeKey } from "./key-file.ts";

/** A gateway for one command: the running one, or one of this process's own on a free port, closed at the end. */
export async function withGateway<T>(
  options: GatewayCommandOptions,
  context: CommandContext,
  use: (gateway: GatewayClient) => Promise<T>,
): Promise<T> {
  const running = await findGateway(context.settings, context.signal);
  if (running !== undefined || options.accept !== true) await askConsent(options, context);
  if (running !== undefined) return use(running);
  const composed = await openComposed(options, context);
  try {
    const listening = await listenSomewhere(composed.gateway, { host: "127.0.0.1", port: 0 }, context);
    try {
      return await use({ url: listening.url, key: readOrMakeKey(context.settings.keyFile), isOwn: true });
    } finally {
      await listening.close();
    }
  } finally {
    await composed.close();
  }
}
