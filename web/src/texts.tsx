import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { api } from "./api.ts";
import { Consent } from "./consent.tsx";
import { Failure } from "./parts.tsx";
import { useAct, useData } from "./use-data.ts";

/** Whether this session shows prompts and answers, and how to change that. */
interface Texts {
  readonly areShown: boolean;
  readonly show: (areShown: boolean) => Promise<unknown>;
}

export const TextsOfSession = createContext<Texts>({ areShown: false, show: () => Promise.resolve() });

/** The gateway's own word on it: the session may be older than this page. */
export function useTexts(): Texts {
  const { data, reload } = useData("texts", api.texts);
  return { areShown: data?.shown === true, show: (areShown) => api.showTexts(areShown).then(reload) };
}

/** Shows the texts of this session, once the owner agreed, or hides them again. */
export function TextsSwitch() {
  const { areShown, show } = useContext(TextsOfSession);
  const { isBusy, error, run } = useAct();
  if (!areShown)
    return (
      <Consent
        open="Show texts…"
        title="Show prompts and answers?"
        yes="Show texts"
        no="Leave hidden"
        onYes={() => show(true)}
      >
        <p>
          This browser then shows your questions, the prompts of your programs, and the answers, while the log keeps
          them.
        </p>
        <p class="muted">It holds until you hide them or sign out. The next sign-in shows none.</p>
      </Consent>
    );
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => run(() => show(false))}>
        Hide texts
      </button>
      {error !== undefined && <Failure error={error} />}
    </>
  );
}
