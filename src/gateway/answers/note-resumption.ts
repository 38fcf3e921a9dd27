import { startOfLog, type TurnId } from "../../base/ids.ts";
import type { ResumptionKind } from "../../usage/history/resumption.ts";
import type { Gateway } from "../http/context.ts";
import { clientOf } from "../http/request-headers.ts";

/**
 * Records for the turn's page that a request joined an existing turn. Does nothing without a meter or if its history cannot be
 * written: the answer does not depend on it.
 *
 * @param after the event id that the reader continues from; the start of the log by default.
 */
export function noteResumption(
  gateway: Pick<Gateway, "meter" | "clock">,
  headers: Headers,
  turnId: TurnId,
  how: ResumptionKind,
  after: string = startOfLog,
): void {
  gateway.meter?.recordResumption({ turnId, atMs: gateway.clock.now(), how, after, client: clientOf(headers) });
}
