import { z } from "zod";
import { bestEffort } from "../../base/async.ts";
import { isMillraceError } from "../../base/errors.ts";
import { startMs } from "../../base/node/gateway-proof.ts";
import type { CommandContext } from "../command.ts";
import { startForCommand } from "../gateway-process/background.ts";
import { findGateway, type GatewayClient, lookForGateway } from "../gateway-process/gateway-client.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import { alreadyServes, holderOf } from "../gateway-process/home.ts";
import type { GatewayCommandOptions } from "../serve/gateway-options.ts";
import { refuseOtherOptions, typedWords } from "../serve/running-options.ts";
import { askConsent } from "./consent.ts";

/** How often a command asks a gateway that ends when it is idle; ms. */
const awakeEveryMs = 60_000;
const lookEveryMs = 50;

/**
 * Uses the gateway that runs, or starts one in the background with the options that were typed. The gateway stays at least until `use` has
 * ended; one that was started for a command ends when it is idle. The user is asked for consent where prompts may follow.
 *
 * @throws MillraceError `invalid_request` for an option that the running gateway would ignore, and as `findGateway` and `startForCommand`.
 */
export async function withGateway<T>(
  options: GatewayCommandOptions & { readonly sendsPrompts?: false },
  context: CommandContext,
  use: (gateway: GatewayClient) => Promise<T>,
): Promise<T> {
  const { settings, signal, typed } = context;
  const words = ["serve", ...typedWords(options, typed)];
  const running = await findGateway(settings, signal);
  if (running !== undefined) refuseOtherOptions(options, context);
  if (options.sendsPrompts !== false && (running !== undefined || !options.accept)) await askConsent(options, context);
  const gateway = running ?? (await startOrJoin(words, options, context));
  const isIdleEnd = readGatewayFile(settings.gatewayFile)?.startedBy === "command";
  const ended = new AbortController();
  if (isIdleEnd) void stayAwake(context, ended.signal);
  const again = (leave: AbortSignal) => startOrJoin(words, options, { ...context, signal: leave });
  try {
    return await use(isIdleEnd ? { ...gateway, again } : gateway);
  } finally {
    ended.abort();
  }
}

/** Asks the gateway each minute until the signal aborts, so that it does not end because it is idle. Never rejects. */
export async function stayAwake({ io, settings }: CommandContext, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await bestEffort(io.clock.sleep(awakeEveryMs, signal));
    if (!signal.aborted) await bestEffort(lookForGateway(settings, signal));
  }
}

/** The details of `alreadyServes`: another command was faster. */
const namesGateway = z.object({ gateway: z.object({}) });

/** Starts a gateway, or waits for the one that another command starts at this moment. */
async function startOrJoin(
  words: readonly string[],
  options: GatewayCommandOptions,
  context: CommandContext,
): Promise<GatewayClient> {
  const { io, settings, signal } = context;
  const giveUpAtMs = io.clock.monotonic() + startMs;
  for (;;) {
    const holder = holderOf(settings.gatewayFile);
    if (holder?.socket !== undefined || (holder !== undefined && io.clock.monotonic() > giveUpAtMs))
      throw alreadyServes(holder, io.clock.now());
    if (holder === undefined || holder.isStopping === true) {
      try {
        return await startForCommand(words, context);
      } catch (error) {
        const wasFaster = isMillraceError(error) && namesGateway.safeParse(error.details).success;
        if (!wasFaster || io.clock.monotonic() > giveUpAtMs) throw error;
      }
    }
    const found = await findGateway(settings, signal);
    if (found !== undefined) {
      refuseOtherOptions(options, context);
      return found;
    }
    await io.clock.sleep(lookEveryMs, signal);
  }
}
