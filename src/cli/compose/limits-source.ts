import { type LimitsEnvelope, limitsSchema, type UsageEnvelope, usageSchema } from "../../usage/envelope.ts";
import type { SpendDimension } from "../../usage/history/history.ts";
import type { CommandContext } from "../command.ts";
import { askGateway } from "../gateway-process/gateway-client.ts";
import { environmentOptions } from "../serve/gateway-options.ts";
import { withGateway } from "./use-gateway.ts";

/** The limits and the history of a gateway. */
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
}

export type WithLimits = <T>(context: CommandContext, use: (source: LimitsSource) => Promise<T>) => Promise<T>;

/** Those of the running gateway, or of one that is started for this command. */
export const withLimits: WithLimits = (context, use) => {
  const options = { ...environmentOptions(context.io.env), sendsPrompts: false } as const;
  return withGateway(options, { ...context, typed: new Set() }, (gateway) =>
    use({
      limits: (signal) => askGateway(gateway, "/v1/limits", limitsSchema, { signal }),
      usage({ sinceMs, untilMs, by, timeZone }, signal) {
        const query = new URLSearchParams({ since: new Date(sinceMs).toISOString(), by, time_zone: timeZone });
        if (untilMs !== undefined) query.set("until", new Date(untilMs).toISOString());
        return askGateway(gateway, `/v1/usage?${query.toString()}`, usageSchema, { signal });
      },
    }),
  );
};
