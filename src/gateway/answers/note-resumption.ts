import { startOfLog, type TurnId } from "../../base/ids.ts";
import type { ResumptionKind } from "../../usage/history/resumption.ts";
import type { Gateway } from "../http/context.ts";
import { clientOf } from "../http/request-headers.ts";

/** `after`: the event id that the reader goes on from; the start of the log by default. */
interface CameBack {
  readonly turnId: TurnId;
  readonly how: ResumptionKind;
  readonly after?: string | undefined;
}

/**
 * Records for the turn's page that a request joined an existing turn. Does nothing without a meter or if its history cannot be
 * written: the answer does not depend on it.
 */
export function noteResumption(
  gateway: Pick<Gateway, "meter" | "clock">,
  headers: Headers,
  { turnId, how, after = startOfLog }: CameBack,
): void {
  gateway.meter?.recordResumption({ turnId, atMs: gateway.clock.now(), how, after, client: clientOf(headers) });
}
