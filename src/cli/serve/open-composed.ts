import { isPortTaken, type Listener } from "../../gateway/http/listen.ts";
import type { OpenGateway } from "../../gateway/open-gateway.ts";
import type { CommandContext } from "../command.ts";
import { type ComposeOptions, compose, type GatewayParts } from "../compose/compose.ts";
import { spellCount } from "../doctor/spell.ts";
import { askConsent } from "../gateway-process/consent.ts";
import { findGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { openLogLines } from "../gateway-process/gateway-log.ts";
import { readOrMakeKey } from "../gateway-process/key-file.ts";
import { findPortHolder, type PortReason, portTaken } from "../gateway-process/port-holder.ts";
import type { GatewayCommandOptions } from "./gateway-options.ts";
import { refuseOtherOptions } from "./running-options.ts";

/** The parts of a gateway as its command's options want them; its notes for the user are printed. */
export async function openComposed(
  options: GatewayCommandOptions,
  { io, out, settings }: CommandContext,
  extra: Partial<Pick<ComposeOptions, "allowedHosts" | "allowedOrigins" | "log">> = {},
): Promise<GatewayParts> {
  const log = openLogLines(io, options.logLevel ?? "warn");
  const composed = await compose({ io, settings, options, log, ...extra });
  if (composed.damage !== undefined)
    out.note(
      `The store was damaged. Its file is kept as ${composed.damage.copy}, and a new log was begun. A request that is repeated under an earlier idempotency key may be asked once more.`,
    );
  if (composed.unreadableTurns > 0)
    out.note(
      `The key of the log (${settings.logKeyFile}) was missing, so Millrace made a new one. ${spellCount(composed.unreadableTurns, "turn")} of the old key cannot be read. If you have the old key: stop, put it back, and start again.`,
    );
  if (composed.degradedBy !== undefined)
    out.note(
      `${composed.degradedBy.message} Until it can be used, Millrace keeps answers in memory only. ${composed.degradedBy.hint}`,
    );
  return composed;
}

/** A gateway for one command: the running one, or one of this process's own on a free port, closed at the end. */
export async function withGateway<T>(
  options: GatewayCommandOptions,
  context: CommandContext,
  use: (gateway: GatewayClient) => Promise<T>,
): Promise<T> {
  const running = await findGateway(context.settings, context.signal);
  if (running !== undefined) refuseOtherOptions(options, context);
  if (running !== undefined || !options.accept) await askConsent(options, context);
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

/** Listens on the port. If a fixed port is in use, throws an error that names its process. Otherwise picks a free one and prints it. */
export async function listenSomewhere(
  gateway: OpenGateway,
  {
    fixedBy,
    ...where
  }: {
    readonly host: string;
    readonly port: number;
    readonly socket?: string | undefined;
    readonly fixedBy?: PortReason | undefined;
  },
  { io, out, signal }: CommandContext,
): Promise<Listener> {
  try {
    return await gateway.listen(where);
  } catch (error) {
    if (!isPortTaken(error)) throw error;
    if (fixedBy !== undefined) throw portTaken(where.port, await findPortHolder(where.port, io, signal), fixedBy);
    const listening = await gateway.listen({ ...where, port: 0 });
    out.note(`Port ${where.port} is in use by another program. Millrace uses port ${listening.port}.`);
    return listening;
  }
}
