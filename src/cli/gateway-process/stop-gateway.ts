import { bestEffort } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { processRuns } from "../../base/node/process-exists.ts";
import { removeIfThere } from "../../base/node/replace-file.ts";
import type { CommandContext } from "../command.ts";
import { lookForGateway } from "./gateway-client.ts";
import { type GatewayFile, readGatewayFile } from "./gateway-file.ts";
import { findPortHolder } from "./port-holder.ts";

const lookEveryMs = 50;

/**
 * Stops this user's gateway and waits for its end. Answers where it was; undefined if none runs. A process gets a signal only after
 * the gateway proved that it knows the key, and the system does not name another process at that port.
 *
 * @throws MillraceError `upstream_timeout`: it does not answer, or still runs after `waitMs`.
 */
export async function stopGateway(
  waitMs: number,
  { io, settings, signal }: Pick<CommandContext, "io" | "settings" | "signal">,
): Promise<GatewayFile | undefined> {
  const address = readGatewayFile(settings.gatewayFile);
  if (address === undefined) return undefined;
  if (!processRuns(address.pid)) {
    removeIfThere(settings.gatewayFile); // left by one that was killed
    return undefined;
  }
  const found = await lookForGateway(settings, signal);
  if (found === undefined || found === "stranger") {
    const holder = await findPortHolder(Number(new URL(address.url).port), io.platform, signal);
    if (holder?.pid !== address.pid) {
      removeIfThere(settings.gatewayFile);
      return undefined; // the process id belongs to another program now
    }
    throw new MillraceError(
      "upstream_timeout",
      `The gateway at ${address.url} does not answer, so no signal was sent.`,
      {
        hint: `Look at process ${address.pid}. End it by hand if it is a gateway that hangs: its turns continue at the next start.`,
      },
    );
  }
  const holder = await findPortHolder(Number(new URL(address.url).port), io.platform, signal);
  if (holder !== undefined && holder.pid !== address.pid) {
    throw new MillraceError(
      "upstream_failed",
      `${settings.gatewayFile} names process ${address.pid}, but process ${holder.pid} serves at ${address.url}. No signal was sent.`,
      { hint: `Stop process ${holder.pid} by hand, if it is your gateway.` },
    );
  }
  process.kill(address.pid, "SIGTERM");
  const giveUpAtMs = io.clock.monotonic() + waitMs;
  while (processRuns(address.pid)) {
    if (io.clock.monotonic() > giveUpAtMs) {
      throw new MillraceError("upstream_timeout", `The gateway (process ${address.pid}) is still stopping.`, {
        hint: "Wait and look again: `millrace stop`.",
      });
    }
    signal.throwIfAborted();
    await bestEffort(io.clock.sleep(lookEveryMs, signal));
  }
  return address;
}
