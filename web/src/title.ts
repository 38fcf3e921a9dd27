import { useEffect } from "preact/hooks";
import type { LimitsEnvelope } from "../../src/usage/envelope.ts";
import { percentLeft } from "../../src/usage/limits.ts";
import { useGone } from "./gateway-link.ts";

/** The tab's title: what is left and what runs, then the page's name. */
let [news, name]: readonly [string, string] = ["", ""];

function write(): void {
  document.title = [news, name, "Millrace"].filter((part) => part !== "").join(" · ");
}

/** Names the page in the title. */
export function useTitle(of: string): void {
  useEffect(() => {
    name = of;
    write();
  }, [of]);
}

/**
 * Puts what is left of the plan, and how many turns run, before the page's name, and the first into the tab's icon. Without the gateway
 * neither is known, and without an IDE no turn goes on.
 */
export function useTitleNews(limits: LimitsEnvelope | undefined, running: number): void {
  const gone = useGone();
  const left = gone === "no gateway" ? undefined : leftInPercent(limits);
  const runs = running === 0 ? "" : `${running} running`;
  const text = [left === undefined ? "" : `${left} % left`, gone ?? runs].filter((part) => part !== "").join(" · ");
  useEffect(() => {
    news = text;
    write();
    const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    icon?.setAttribute("href", iconFor(left));
    return () => {
      news = "";
      icon?.setAttribute("href", iconFor(undefined));
    };
  }, [text]);
}

/** The mark of the tab: its colour says when little is left. Files, because the page's policy allows no picture in an address. */
function iconFor(left: number | undefined): string {
  if (left === undefined || left > 20) return "/icon.svg";
  return left > 5 ? "/icon-low.svg" : "/icon-out.svg";
}

/** Of the limit of which least is left. Antigravity is metered and gets no prompt, so it counts only where it is alone. */
function leftInPercent(limits: LimitsEnvelope | undefined): number | undefined {
  const all = limits?.data ?? [];
  const prompted = all.filter(({ ide }) => ide !== "antigravity");
  const used = (prompted.length > 0 ? prompted : all)
    .flatMap(({ windows }) => windows)
    .filter(({ scope, utilization }) => scope !== "model" && utilization !== null)
    .map(({ utilization }) => utilization ?? 0);
  return used.length === 0 ? undefined : percentLeft(Math.max(...used));
}
