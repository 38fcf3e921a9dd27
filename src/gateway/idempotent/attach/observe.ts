import type { Clock } from "../../../base/clock.ts";
import type { StreamTurns } from "../../../turns/attach/attachment.ts";
import { readPayload } from "../../dialects/idempotent/client-message.ts";
import type { AttachAsk } from "../rpc/attach-headers.ts";
import type { StreamProgress } from "../stream/stream-progress.ts";

/** How often an observer looks for new messages of the writing client. No event announces them. A row of docs/retries.md; ms. */
const lookEveryMs = 1_000;

/** Keeps an observer's state up with the stream until the signal aborts; `onChange` after each change. Throws `expired`. */
export async function followState(
  { streams, clock }: { readonly streams: Pick<StreamTurns, "attach">; readonly clock: Clock },
  { ask: { name }, state }: { readonly ask: Pick<AttachAsk, "name">; readonly state: StreamProgress },
  onChange: () => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(lookEveryMs, signal);
    const { accepted } = await streams.attach(name, "observe");
    const news = accepted.slice(state.accepted);
    for (const { payload, turnId } of news) state.accept(readPayload(payload), turnId);
    if (news.length > 0) onChange();
  }
}
