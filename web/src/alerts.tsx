import { useEffect, useState } from "preact/hooks";
import { productOfIde } from "../../src/base/ide-name.ts";
import type { LimitsEnvelope } from "../../src/usage/envelope.ts";
import { type AlertSettings, alertSettings, chooseAlerts, noteAlerted, wasAlerted } from "./settings.ts";
import { amountInWords, whenInWords } from "./words.ts";

/** Something to tell the user at once; `id` names it, so that it is told once. */
export interface Alert {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** The limits that have reached the share from which on the user wants to know. Once for each time that a window resets. */
export function limitAlerts(limits: LimitsEnvelope, atPercent: number, nowMs: number): readonly Alert[] {
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
export function useAlerts(limits: LimitsEnvelope | undefined, failures: readonly Alert[]) {
  const [shown, setShown] = useState<readonly Alert[]>([]);
  useEffect(() => {
    const { isOn, atPercent, onFailure } = alertSettings();
    if (!isOn) return;
    const found = limits === undefined ? [] : limitAlerts(limits, atPercent, Date.now());
    const fresh = [...found, ...(onFailure ? failures : [])].filter(({ id }) => !wasAlerted(id));
    for (const { id, title, text } of fresh) {
      noteAlerted(id);
      if (!("Notification" in globalThis) || Notification.permission !== "granted") continue;
      const told = new Notification(title, { body: text, tag: id, icon: "/icon.svg" });
      told.addEventListener("click", () => window.focus());
    }
    if (fresh.length > 0) setShown((before) => [...before, ...fresh].slice(-mostShown));
  }, [limits, failures]);
  return { shown, dismiss: (id: string) => setShown((before) => before.filter((alert) => alert.id !== id)) };
}

/** The user's choice, and what the browser allows. Turning alerts on asks the browser for its permission. */
export function useAlertSettings() {
  const [settings, setSettings] = useState(alertSettings);
  const [permission, setPermission] = useState(permissionNow);
  const choose = (part: Partial<AlertSettings>) => {
    const chosen = { ...settings, ...part };
    chooseAlerts(chosen);
    setSettings(chosen);
    if (part.isOn === true && permission === "default") void Notification.requestPermission().then(setPermission);
  };
  return { settings, permission, choose };
}

function permissionNow(): NotificationPermission | "missing" {
  return "Notification" in globalThis ? Notification.permission : "missing";
}

/** Alerts on or off, beside the limits that they are about. */
export function AlertSwitch() {
  const { settings, choose } = useAlertSettings();
  const { isOn, atPercent } = settings;
  return (
    <button type="button" class="quiet" aria-pressed={isOn} onClick={() => choose({ isOn: !isOn })}>
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
