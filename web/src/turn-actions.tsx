import { useState } from "preact/hooks";
import { api, type TimelineEntry, type TurnDetail } from "./api.ts";
import { CopyButton, Failure } from "./parts.tsx";
import { answerOf } from "./turn-rows.ts";
import { useAct } from "./use-data.ts";

/** What can be done with a turn: copy its parts, follow it from a terminal, cancel it. */
export function TurnActions({
  turn,
  entries,
}: {
  readonly turn: TurnDetail;
  readonly entries: readonly TimelineEntry[];
}) {
  const { text } = answerOf(entries);
  const prompt = turn.prompt?.map(({ text: part }) => part).join("\n\n");
  return (
    <div class="choices actions">
      <CopyButton text={turn.id} label="the turn's id">
        Copy id
      </CopyButton>
      {prompt !== undefined && prompt !== "" && (
        <CopyButton text={prompt} label="the prompt">
          Copy prompt
        </CopyButton>
      )}
      {text !== "" && (
        <CopyButton text={text} label="the answer">
          Copy answer
        </CopyButton>
      )}
      {!turn.sealed && (
        <CopyButton text={curlFor(turn.id)} label="a curl command that reads the whole answer, or resumes it">
          Copy curl
        </CopyButton>
      )}
      {turn.status === "running" && <Cancel id={turn.id} />}
    </div>
  );
}

/** Ends a running turn. It stays busy until the turn's end is seen, or the call failed. */
export function Cancel({ id, name }: { readonly id: string; readonly name?: string }) {
  const { isBusy, error, run } = useAct();
  const [isSent, setSent] = useState(false);
  const isCancelling = isBusy || isSent;
  return (
    <>
      <button
        type="button"
        class="danger"
        disabled={isCancelling}
        onClick={() => run(() => api.cancel(id).then(() => setSent(true)))}
        aria-label={name === undefined ? undefined : `Cancel ${name}`}
      >
        {isCancelling ? "Cancelling" : "Cancel"}
      </button>
      {error !== undefined && <Failure error={error} />}
    </>
  );
}

function curlFor(id: string): string {
  return `curl -N -H "Authorization: Bearer $(millrace keys --value)" "${location.origin}/v1/turns/${id}/events"`;
}
