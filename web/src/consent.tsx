import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { api } from "./api.ts";
import { Failure } from "./parts.tsx";
import { useAct } from "./use-data.ts";

/** A button for what needs the owner's consent: a dialog says what it does, and asks. */
export function Consent(props: {
  readonly open: string;
  readonly title: string;
  readonly yes: string;
  readonly no: string;
  readonly onYes: () => Promise<unknown>;
  readonly children: ComponentChildren;
}) {
  const { open, title, yes, no, onYes, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const { isBusy, error, run } = useAct();
  const agree = async () => {
    await onYes();
    dialog.current?.close();
  };
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        {open}
      </button>
      <dialog ref={dialog} aria-label={title}>
        <h2>{title}</h2>
        {children}
        {error !== undefined && <Failure error={error} />}
        <div class="choices">
          <button type="button" class="primary" disabled={isBusy} onClick={() => run(agree)}>
            {yes}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            {no}
          </button>
        </div>
      </dialog>
    </>
  );
}

/** Tells the gateway that prompts may go to this IDE. */
export function AgreeButton({ ide, onAgreed }: { readonly ide: string; readonly onAgreed: () => void }) {
  const { isBusy, error, run } = useAct();
  return (
    <div class="choices">
      <button type="button" class="primary" disabled={isBusy} onClick={() => run(() => api.agree(ide).then(onAgreed))}>
        I agree
      </button>
      {error !== undefined && <Failure error={error} />}
    </div>
  );
}
