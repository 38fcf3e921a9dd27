import { useState } from "preact/hooks";
import { type ApiError, api } from "./api.ts";
import { Failure } from "./parts.tsx";
import { report } from "./use-data.ts";

/** Tells the gateway that prompts may go to this IDE. */
export function AgreeButton({ ide, onAgreed }: { readonly ide: string; readonly onAgreed: () => void }) {
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<ApiError>();
  const agree = async () => {
    setSending(true);
    setError(undefined);
    try {
      await api.agree(ide);
      onAgreed();
    } catch (failure) {
      setError(report(failure));
    }
    setSending(false);
  };
  return (
    <div class="choices">
      <button type="button" class="primary" disabled={isSending} onClick={() => void agree()}>
        I agree
      </button>
      {error !== undefined && <Failure error={error} />}
    </div>
  );
}
