/** What the user chose on this page, kept by this browser alone. */
function kept(name: string): string | null {
  return localStorage.getItem(`millrace-${name}`);
}

function keep(name: string, value: string): void {
  localStorage.setItem(`millrace-${name}`, value);
}

/** Whether the user wants to be told: what an alert is about is loaded in a hidden tab too. */
export function alertsAreOn(): boolean {
  return kept("alerts") === "on";
}

export function chooseAlerts(isOn: boolean): void {
  keep("alerts", isOn ? "on" : "off");
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
