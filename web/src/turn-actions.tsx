import { useRef, useState } from "preact/hooks";
import { type ApiError, api, type TimelineEntry, type TurnDetail } from "./api.ts";
import { useCancel } from "./cancel.ts";
import { CopyButton, Failure } from "./parts.tsx";
import { answerOf } from "./turn-rows.ts";
import { report } from "./use-data.ts";

/** What can be done with a turn: copy its parts, follow it from a terminal, cancel it, ask again. */
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
      {!turn.sealed && turn.status === "ended" && <AskAgain id={turn.id} />}
      {turn.status === "running" && <Cancel id={turn.id} />}
    </div>
  );
}

function Cancel({ id }: { readonly id: string }) {
  const { isCancelling, error, cancel } = useCancel(id);
  return (
    <>
      <button type="button" class="danger" disabled={isCancelling} onClick={cancel}>
        {isCancelling ? "Cancelling" : "Cancel"}
      </button>
      {error !== undefined && <Failure error={error} />}
    </>
  );
}

function curlFor(id: string): string {
  return `curl -N -H "Authorization: Bearer $(millrace keys --value)" "${location.origin}/v1/turns/${id}/events"`;
}

/** Sends the prompt again, once the user has agreed to what it costs. */
function AskAgain({ id }: { readonly id: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  /** One name for each time that the user agrees: a request that arrives twice sends one prompt. */
  const once = useRef("");
  const [isAsking, setAsking] = useState(false);
  const [error, setError] = useState<ApiError>();
  const open = () => {
    once.current = [...crypto.getRandomValues(new Uint8Array(16))]
      .map((byte) => byte.toString(16).padStart(2, "0"))
      .join("");
    setError(undefined);
    dialog.current?.showModal();
  };
  const ask = async () => {
    setAsking(true);
    try {
      const { id: again } = await api.askAgain(id, once.current);
      dialog.current?.close();
      location.hash = `#/turns/${again}`;
    } catch (failure) {
      setError(report(failure));
    }
    setAsking(false);
  };
  return (
    <>
      <button type="button" onClick={open}>
        Ask again…
      </button>
      <dialog ref={dialog} aria-labelledby="ask-again">
        <h2 id="ask-again">Ask again?</h2>
        <p>Millrace sends this prompt to the model once more, as a new turn. It uses your plan again.</p>
        <p class="muted">The first client does not get the new answer. You can read it on this page.</p>
        {error !== undefined && <Failure error={error} />}
        <div class="choices">
          <button type="button" class="primary" disabled={isAsking} onClick={() => void ask()}>
            {isAsking ? "Sending" : "Send it again"}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Do not send
          </button>
        </div>
      </dialog>
    </>
  );
}
