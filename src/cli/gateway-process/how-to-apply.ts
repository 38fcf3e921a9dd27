import type { CommandContext } from "../command.ts";
import { liveOptions } from "../config/reload.ts";
import { findGateway } from "./gateway-client.ts";
import { readGatewayFile } from "./gateway-file.ts";

/** The command that makes the running gateway use a changed setting of the configuration file. */
export async function howToApply(
  option: string,
  { io, settings, signal }: Pick<CommandContext, "io" | "settings" | "signal">,
): Promise<string> {
  const running = await findGateway(settings, signal);
  const file = readGatewayFile(settings.gatewayFile);
  if (running === undefined || file === undefined) return "No gateway runs. Its next start uses the new value.";
  // A gateway on a terminal takes SIGHUP as the end of that terminal, and stops.
  const canHangUp = io.platform !== "win32" && (file.startedBy === "background" || file.startedBy === "service");
  const isLive = liveOptions.some((live) => live === option);
  return isLive && canHangUp
    ? `The running gateway uses the new value after \`kill -HUP ${file.pid}\`, without a restart.`
    : "The running gateway uses the new value after `millrace restart`.";
}
