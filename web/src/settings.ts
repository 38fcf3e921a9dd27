/** What the user chose on this page, kept by this browser alone. */
function kept(name: string): string | null {
  return localStorage.getItem(`millrace-${name}`);
}

function keep(name: string, value: string): void {
  localStorage.setItem(`millrace-${name}`, value);
}

/** How many turns stand on one page of the table. */
export const pageSizes = ["10", "25", "50", "100"] as const;

export function pageSize(): number {
  const size = pageSizes.find((one) => one === kept("rows"));
  return Number(size ?? "25");
}

export function choosePageSize(size: string): void {
  keep("rows", size);
}

/** When to alert: at which share of a limit, in percent, and whether a failed turn is one. */
export interface AlertSettings {
  readonly isOn: boolean;
  readonly atPercent: number;
  readonly onFailure: boolean;
}

export const alertShares = ["50", "75", "80", "90", "95"] as const;

export function alertSettings(): AlertSettings {
  const share = alertShares.find((one) => one === kept("alert-at"));
  return {
    isOn: kept("alerts") === "on",
    atPercent: Number(share ?? "80"),
    onFailure: kept("alert-failures") === "on",
  };
}

/** Whether the user wants to be told: what an alert is about is loaded in a hidden tab too. */
export function alertsAreOn(): boolean {
  return alertSettings().isOn;
}

export function chooseAlerts({ isOn, atPercent, onFailure }: AlertSettings): void {
  keep("alerts", isOn ? "on" : "off");
  keep("alert-at", String(atPercent));
  keep("alert-failures", onFailure ? "on" : "off");
}

/** Whether an alert was given before, in this tab or another one. */
export function wasAlerted(what: string): boolean {
  return (kept("alerted") ?? "").split("\n").includes(what);
}

const mostRemembered = 50;

export function noteAlerted(what: string): void {
  const before = (kept("alerted") ?? "").split("\n").filter((one) => one !== "" && one !== what);
  keep("alerted", [...before, what].slice(-mostRemembered).join("\n"));
}

/** Keeps the view that somebody without a session asked for: the link that signs in opens another tab. */
export function noteWanted(): void {
  if (location.hash.length > 2 && !location.hash.startsWith("#/sign-in/")) keep("wanted", location.hash);
}

/** The view that was kept, once; else the overview. */
export function takeWanted(): string {
  const wanted = kept("wanted");
  localStorage.removeItem("millrace-wanted");
  return wanted ?? "/";
}
