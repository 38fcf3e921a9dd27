/** Which colours the page has: those of the system, or the ones that the user chose here. */
export type Theme = "system" | "light" | "dark";

const stored = "millrace-theme";
const listeners = new Set<() => void>();

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
  for (const listener of listeners) listener();
}

/** Calls back when the colours changed, by the user's choice here or in the system. */
export function onThemeChange(listener: () => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", listener);
  listeners.add(listener);
  return () => {
    system.removeEventListener("change", listener);
    listeners.delete(listener);
  };
}
