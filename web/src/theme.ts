/** Which colours the page has: those of the system, or the ones that the user chose here. */
export type Theme = "system" | "light" | "dark";

export const themes = [
  ["system", "Auto"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const satisfies readonly (readonly [Theme, string])[];

const stored = "millrace-theme";

export function themeNow(): Theme {
  const kept = localStorage.getItem(stored);
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Puts the theme on the page; `applyTheme(themeNow())` before the first paint. */
export function applyTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(stored, theme);
  applyTheme(theme);
}
