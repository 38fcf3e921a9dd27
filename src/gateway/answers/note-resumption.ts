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
 * Keeps that a request came to a turn that was there, for the turn's page. Nothing without a meter, or where its history
 * cannot be written: the answer does not depend on it.
 */
export function noteResumption(
  gateway: Pick<Gateway, "meter" | "clock">,
  headers: Headers,
  { turnId, how, after = startOfLog }: CameBack,
): void {
  gateway.meter?.recordResumption({ turnId, atMs: gateway.clock.now(), how, after, client: clientOf(headers) });
}
