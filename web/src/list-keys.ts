import { useEffect } from "preact/hooks";

/** `j` and `k` go to the next and the former row of the page's lists, as in many programs; Enter then opens it. */
export function useListKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.key !== "j" && event.key !== "k") || event.ctrlKey || event.metaKey || event.altKey) return;
      const at = event.target as HTMLElement; // a key is pressed on an element
      if (at.closest("input, select, textarea, dialog") !== null) return;
      const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
      const here = rows.findIndex((row) => row.contains(document.activeElement));
      const next = here + (event.key === "j" ? 1 : -1);
      const row = rows[here < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, next))];
      row?.querySelector<HTMLElement>("a, button")?.focus({ preventScroll: true });
      row?.scrollIntoView({ block: "nearest" });
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}
