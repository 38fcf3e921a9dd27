import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventSource } from "../../base/emitter.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import type { OtlpReceiver } from "./otlp-receiver.ts";
import { type OtlpSpan, spanOf } from "./turn-span.ts";

/** How often spans are sent, how long a receiver may take, and how many spans wait for one that is away; the oldest go first. */
const sendEveryMs = 5_000;
const answerWithinMs = 10_000;
const mostSpans = 2_048;

export interface TracesOptions {
  readonly receiver: OtlpReceiver;
  readonly version: string;
  readonly clock: Clock;
  readonly log: GatewayLog;
  readonly events: EventSource<Pick<UsageLifecycle, "turn_ended">>;
}

/** Sends a span for each turn that ended to an OTLP receiver, over HTTP with JSON. A receiver that is away costs no answer anything. */
export function sendTraces({ receiver, version, clock, log, events }: TracesOptions): { close(): Promise<void> } {
  const url = `${receiver.endpoint.replace(/\/+$/, "")}/v1/traces`;
  const spans: OtlpSpan[] = [];
  const stop = new AbortController();
  let isAway = false;
  events.on("turn_ended", (turn) => {
    spans.push(spanOf(turn));
    if (spans.length > mostSpans) spans.shift();
  });
  const send = async () => {
    const batch = spans.splice(0);
    if (batch.length === 0) return;
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { ...headersOf(receiver), "content-type": "application/json" },
        body: JSON.stringify(requestOf(batch, version)),
        redirect: "error", // only the address that the user named gets anything
        signal: AbortSignal.timeout(answerWithinMs),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`it answered ${response.status}`);
      if (isAway) log.write("info", "traces_sent_again", { url });
      isAway = false;
    } catch (error) {
      spans.unshift(...batch.slice(spans.length - mostSpans));
      if (!isAway) log.write("warn", "traces_not_sent", { url, why: String(error) });
      isAway = true;
    }
  };
  const work = async () => {
    while (!stop.signal.aborted) {
      await bestEffort(clock.sleep(sendEveryMs, stop.signal));
      await send();
    }
  };
  const done = work();
  return {
    async close() {
      stop.abort();
      await done;
    },
  };
}

function headersOf({ headers }: OtlpReceiver): Record<string, string> {
  return Object.fromEntries(headers.map(([name, value]) => [name, value.reveal()]));
}

function requestOf(spans: readonly OtlpSpan[], version: string) {
  const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  return {
    resourceSpans: [
      {
        resource: { attributes: [attribute("service.name", "millrace"), attribute("service.version", version)] },
        scopeSpans: [{ scope: { name: "millrace", version }, spans }],
      },
    ],
  };
}
