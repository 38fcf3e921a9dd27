import { isDegraded, type MillraceError } from "../../base/errors.ts";
import { parseOverrides } from "../../ide/discover/overrides.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import { createCatalogue } from "../../models/catalogue.ts";
import { nameOfUid } from "../../models/model-name.ts";
import {
  encodeLimits,
  encodeUsage,
  type LimitsEnvelope,
  limitsSchema,
  type UsageEnvelope,
  usageSchema,
} from "../../usage/envelope.ts";
import type { SpendDimension, UsageHistory } from "../../usage/history/history.ts";
import type { Meter } from "../../usage/meter.ts";
import { usageReport } from "../../usage/usage-report.ts";
import type { CommandContext } from "../command.ts";
import { askGateway, findGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { devinRecords, openOwnHistory } from "../limits/open-own-history.ts";

/** Where a command has limits and history from: the running gateway, or the IDEs and the store themselves. */
export interface LimitsSource {
  limits(signal: AbortSignal): Promise<LimitsEnvelope>;
  usage(
    /** `untilMs`: up to now where it is left out. */
    query: {
      readonly sinceMs: number;
      readonly untilMs?: number | undefined;
      readonly by: SpendDimension;
      readonly timeZone: string;
    },
    signal: AbortSignal,
  ): Promise<UsageEnvelope>;
  close(): void;
}

/** The history and a meter of this process, for when no gateway runs. */
export interface LocalMeter {
  /** Why the history of the disk cannot be read; then one in memory is in its place, and the plan can still be read. */
  readonly problem?: MillraceError | undefined;
  readonly history: UsageHistory;
  readonly elsewhere: Meter["elsewhere"];
  /** Opened when limits are asked for: it brings along all that finds and asks an IDE, which a report does without. */
  meter(): Promise<Pick<Meter, "limits">>;
  close(): void;
}

export type OpenLimitsSource = (context: CommandContext) => Promise<LimitsSource>;

/** The running gateway's meter if there is a gateway, else one that `openLocal` opens. */
export function limitsSource(
  openLocal: (context: CommandContext) => LocalMeter = (context) => openLocalMeter(context),
): OpenLimitsSource {
  return async (context) => {
    const gateway = await findGateway(context.settings, context.signal);
    return gateway === undefined ? ofMeter(openLocal(context), context) : ofGateway(gateway);
  };
}

function ofGateway(gateway: GatewayClient): LimitsSource {
  return {
    limits: (signal) => askGateway(gateway, "/v1/limits", limitsSchema, { signal }),
    usage({ sinceMs, untilMs, by, timeZone }, signal) {
      const query = new URLSearchParams({ since: new Date(sinceMs).toISOString(), by, time_zone: timeZone });
      if (untilMs !== undefined) query.set("until", new Date(untilMs).toISOString());
      return askGateway(gateway, `/v1/usage?${query.toString()}`, usageSchema, { signal });
    },
    close() {},
  };
}

function ofMeter(local: LocalMeter, { io }: CommandContext): LimitsSource {
  const { history } = local;
  const catalogue = createCatalogue();
  const nameOf = (uid: string) => nameOfUid(uid, catalogue);
  return {
    limits: async (signal) => encodeLimits(await (await local.meter()).limits({ wait: true }, signal)),
    async usage(asked) {
      if (local.problem !== undefined) throw local.problem;
      const query = { ...asked, untilMs: asked.untilMs ?? io.clock.now() + 1 };
      return encodeUsage({ ...usageReport(history, query), elsewhere: await local.elsewhere(query) }, nameOf);
    },
    close: () => local.close(),
  };
}

/**
 * For one command, when no gateway runs: it asks the IDEs itself, and reads and adds to the same history. `shared`: a finder of the
 * caller, who closes it.
 */
export function openLocalMeter({ io, settings }: CommandContext, shared?: IdeFinder): LocalMeter {
  const overrides = parseOverrides(io.env);
  const { history, problem } = historyHere(settings.storeFile);
  let finder: IdeFinder | undefined;
  const records = devinRecords(io, overrides.onlyHome);
  return {
    history,
    problem,
    elsewhere: (query) => records.elsewhere(query, (...asked) => history.sessions(...asked)),
    async meter() {
      const [{ composeIdeFinder }, { meterOver }] = await Promise.all([
        import("./compose-ide.ts"),
        import("./compose-meter.ts"),
      ]);
      const used = shared ?? (finder ??= composeIdeFinder(io, overrides));
      return meterOver(history, { io, finder: used, folder: settings.folder, onlyHome: overrides.onlyHome });
    },
    close() {
      finder?.close();
      history.close();
    },
  };
}

function historyHere(file: string): { readonly history: UsageHistory; readonly problem?: MillraceError } {
  try {
    return { history: openOwnHistory(file) };
  } catch (error) {
    if (!isDegraded(error)) throw error;
    return { history: openOwnHistory(undefined), problem: error };
  }
}
