import type { GatewayLog } from "../../gateway/http/log.ts";
import type { CommandContext } from "../command.ts";
import { compose, type GatewayParts } from "../compose/compose.ts";
import { readConfig } from "../config/read-config.ts";
import { spellCount } from "../doctor/spell.ts";
import { readOrMakeKey } from "../gateway-process/key-file.ts";
import { openLogLines } from "../gateway-process/log-lines.ts";
import type { OtlpReceiver } from "../telemetry/otlp-receiver.ts";
import { describeDamage } from "../terminal/describe-damage.ts";
import { continuityIdleMs, type GatewayCommandOptions } from "./gateway-options.ts";
import { overridesOf } from "./ide-options.ts";
import { retentionOf } from "./retention-options.ts";

/** The parts of a gateway as its command's options want them. */
export async function openComposed(
  options: GatewayCommandOptions,
  { io, out, settings }: CommandContext,
  extra: {
    readonly allowedHosts?: readonly string[];
    readonly allowedOrigins?: readonly string[];
    readonly onlyHome?: string;
    readonly dashboardText?: boolean;
    readonly log?: GatewayLog;
    readonly otlp?: OtlpReceiver | undefined;
  } = {},
): Promise<GatewayParts> {
  const asked = overridesOf(io, options);
  const overrides = extra.onlyHome === undefined ? asked : { ...asked, onlyHome: extra.onlyHome };
  const composed = await compose({
    io,
    overrides,
    config: readConfig(settings.configFile),
    backend: options.backend,
    acpCommand: options.acpCommand,
    ideTools: options.ideTools,
    toolWay: options.continuity === "on" ? undefined : "prose", // a prompt that waits is a conversation that is kept
    log: extra.log ?? openLogLines(io, options.logLevel ?? "warn"),
    key: readOrMakeKey(settings.keyFile),
    keyFile: settings.keyFile,
    keysFile: settings.keysFile,
    folder: settings.folder,
    logKeyFile: settings.logKeyFile,
    storeFile: options.store === "memory" ? undefined : settings.storeFile,
    redis: options.store === "redis" ? options.redisUrl : undefined,
    graceMs: options.grace,
    mostTurns: options.maxTurns,
    pauseFile: settings.pauseFile,
    accept: options.accept ?? false,
    retention: retentionOf(options.retention),
    dashboardText: extra.dashboardText ?? false,
    otlp: extra.otlp,
    continuityIdleMs: options.continuity === "on" ? continuityIdleMs : undefined,
    allowedHosts: extra.allowedHosts ?? [],
    allowedOrigins: extra.allowedOrigins ?? [],
  });
  if (composed.damage !== undefined) out.note(describeDamage(composed.damage.copy));
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
