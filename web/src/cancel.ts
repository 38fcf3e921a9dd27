import { useState } from "preact/hooks";
import { type ApiError, api } from "./api.ts";
import { report } from "./use-data.ts";

/** Ends a running turn. `isCancelling` stays until the turn's end is seen, or the call failed. */
export function useCancel(id: string) {
  const [isCancelling, setCancelling] = useState(false);
  const [error, setError] = useState<ApiError>();
  const cancel = () => {
    setCancelling(true);
    api.cancel(id).catch((failure: unknown) => {
      setCancelling(false);
      setError(report(failure));
    });
  };
  return { isCancelling, error, cancel };
}
