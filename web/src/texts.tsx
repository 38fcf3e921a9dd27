import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { api } from "./api.ts";
import { Consent } from "./consent.tsx";
import { renewFeed, useStateChange } from "./live-turns.ts";
import { Failure } from "./parts.tsx";
import { useAct, useData } from "./use-data.ts";
import { ageInWords } from "./words.ts";

/** Whether this session shows prompts and answers, and how to change that. */
interface Texts {
  readonly areShown: boolean;
  /** How long texts are kept after a turn's end, in words; undefined until it is known. */
  readonly kept: string | undefined;
  readonly show: (areShown: boolean) => Promise<unknown>;
}

export const TextsOfSession = createContext<Texts>({ areShown: false, kept: undefined, show: () => Promise.resolve() });

/** The gateway's own word on it: the session may be older than this page. */
export function useTexts(): Texts {
  const { data, reload } = useData("texts", api.texts);
  const kept = data === undefined ? undefined : ageInWords(data.kept_seconds * 1000);
  useStateChange(reload); // another tab may show or hide them
  return { areShown: data?.shown === true, kept, show: (areShown) => api.showTexts(areShown).then(renewFeed) };
}

/** How long texts are kept, and how to keep them longer. */
export function KeptFor() {
  const { kept } = useContext(TextsOfSession);
  return (
    <>
      {`The gateway keeps prompts and answers for ${kept ?? "a while"} after the end of a turn. `}
      <code>millrace config set retention 7d</code> keeps the next ones longer.
    </>
  );
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
        <p class="muted">
          It holds for this browser, until you hide them or sign out. <code>millrace config set show_texts on</code>{" "}
          shows them in each browser.
        </p>
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
