import { useEffect, useState } from "preact/hooks";
import { productOfIde } from "../../src/base/ide-name.ts";
import type { LimitsEnvelope } from "../../src/usage/envelope.ts";
import { alertsAreOn, chooseAlerts, noteAlerted, wasAlerted } from "./settings.ts";
import { amountInWords, whenInWords } from "./words.ts";

/** From which share of a limit on the user wants to know, in percent. */
const atPercent = 80;

/** Something to tell the user at once; `id` names it, so that it is told once. */
interface Alert {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** The limits that have reached that share. Once for each time that a window resets. */
function limitAlerts(limits: LimitsEnvelope, nowMs: number): readonly Alert[] {
  return limits.data.flatMap(({ ide, windows }) =>
    windows
      .filter(({ scope, utilization }) => scope !== "model" && (utilization ?? 0) * 100 >= atPercent)
      .map((window) => ({
        id: `${ide} ${window.id} ${atPercent} ${window.resets_at ?? ""}`,
        title: `${window.label}: ${amountInWords(window)}`,
        text: `${productOfIde(ide)}${window.resets_at === null ? "" : `, resets ${whenInWords(Date.parse(window.resets_at), nowMs)}`}.`,
      })),
  );
}

/** Tells alerts once each: as a notification of the system where the user allowed it, and on the page. */
export function useAlerts(limits: LimitsEnvelope | undefined) {
  const [shown, setShown] = useState<readonly Alert[]>([]);
  useEffect(() => {
    if (!alertsAreOn() || limits === undefined) return;
    const fresh = limitAlerts(limits, Date.now()).filter(({ id }) => !wasAlerted(id));
    for (const { id, title, text } of fresh) {
      noteAlerted(id);
      if (!("Notification" in globalThis) || Notification.permission !== "granted") continue;
      const told = new Notification(title, { body: text, tag: id, icon: "/icon.svg" });
      told.addEventListener("click", () => window.focus());
    }
    if (fresh.length > 0) setShown((before) => [...before, ...fresh].slice(-mostShown));
  }, [limits]);
  return { shown, dismiss: (id: string) => setShown((before) => before.filter((alert) => alert.id !== id)) };
}

/** Alerts on or off, beside the limits that they are about. Turning them on asks the browser for its permission to notify. */
export function AlertSwitch() {
  const [isOn, setOn] = useState(alertsAreOn);
  const change = () => {
    chooseAlerts(!isOn);
    setOn(!isOn);
    if (!isOn && "Notification" in globalThis) void Notification.requestPermission();
  };
  return (
    <button type="button" class="quiet" aria-pressed={isOn} onClick={change}>
      {`Alert at ${atPercent} %`}
    </button>
  );
}

const mostShown = 3;

/** The alerts of this page, until the user closes them. */
export function Alerts({ shown, dismiss }: ReturnType<typeof useAlerts>) {
  return (
    <div class={shown.length === 0 ? "hidden" : "alerts"} role="status">
      {shown.map(({ id, title, text }) => (
        <p key={id} class="card">
          <span>
            <strong>{title}</strong> <span class="muted">{text}</span>
          </span>
          <button type="button" class="quiet" onClick={() => dismiss(id)} aria-label={`Close: ${title}`}>
            Close
          </button>
        </p>
      ))}
    </div>
  );
}
