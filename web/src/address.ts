import { useEffect, useState } from "preact/hooks";

/** How far back the whole overview looks. */
export const ranges = [
  ["today", "Today"],
  ["7d", "7 d"],
  ["30d", "30 d"],
  ["90d", "90 d"],
] as const;

type Range = (typeof ranges)[number][0];

/** What the overview shows, as its address says it after `#/?`. A default is left out of the address. */
const defaults = {
  since: "7d",
  by: "model",
  day: "",
  from: "",
  to: "",
  status: "",
  model: "",
  client: "",
  key: "",
  search: "",
  sort: "time",
  order: "desc",
  offset: "0",
} as const;

export type PageQuery = Readonly<Record<keyof typeof defaults, string>>;

const names = Object.keys(defaults) as readonly (keyof PageQuery)[]; // the keys that are declared above

function read(): PageQuery {
  const [path = "", query = ""] = location.hash.split("?", 2);
  const given = new URLSearchParams(path === "#/" ? query : "");
  return Object.fromEntries(names.map((name) => [name, given.get(name) ?? defaults[name]])) as PageQuery; // every name of it
}

/** The address of the overview that shows this. */
export function addressOf(asked: PageQuery): string {
  const query = new URLSearchParams(
    names.flatMap((name) => (asked[name] === defaults[name] ? [] : [[name, asked[name]]])),
  );
  return query.size === 0 ? "#/" : `#/?${query.toString()}`;
}

/** The address of the turns behind a number: those of the same time that match `filter`, and no other filter. */
export function turnsBehind({ since, by }: PageQuery, filter: Partial<PageQuery>): string {
  return addressOf({ ...defaults, since, by, ...filter });
}

/** Whether an address names turns of the list. */
export function namesTurns(): boolean {
  const asked = read();
  return names.some((name) => name !== "since" && name !== "by" && asked[name] !== defaults[name]);
}

/** What the address asks for, and how to change it. A change writes the address without a new entry of the browser's history. */
export function useAsked(): readonly [PageQuery, (part: Partial<PageQuery>) => void] {
  const [asked, setAsked] = useState(read);
  useEffect(() => {
    const onChange = () => setAsked(read());
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  const change = (part: Partial<PageQuery>) => {
    const next = { ...read(), offset: defaults.offset, ...part };
    history.replaceState(null, "", addressOf(next));
    setAsked(next);
  };
  return [asked, change];
}

/** The range of an address; the default one for any other word. */
export function rangeOf({ since }: PageQuery): Range {
  return ranges.find(([range]) => range === since)?.[0] ?? defaults.since;
}

/** The midnight with which the first day of the range began; today is the last. ISO. */
export function sinceOf(asked: PageQuery): string {
  const range = rangeOf(asked);
  const first = new Date(new Date().setHours(0, 0, 0, 0));
  if (range !== "today") first.setDate(first.getDate() - Number.parseInt(range, 10) + 1);
  return first.toISOString();
}

/** The times of a local day, `2026-11-22`: ISO, the end exclusive. Today has no end yet; what is no day has no times. */
export function timesOfDay(day: string): { readonly since?: string; readonly until?: string } {
  const first = new Date(`${day}T00:00`);
  if (Number.isNaN(first.getTime())) return {};
  const next = new Date(first);
  next.setDate(next.getDate() + 1);
  const isOver = next.getTime() <= Date.now();
  return { since: first.toISOString(), ...(isOver ? { until: next.toISOString() } : {}) };
}

/** The times that the list is narrowed to: a part that was dragged over, else a day, else the whole range. ISO. */
export function timesOf(asked: PageQuery): { readonly since: string; readonly until?: string } {
  const isPart = !Number.isNaN(Date.parse(asked.from)) && Date.parse(asked.from) < Date.parse(asked.to);
  if (isPart) return { since: asked.from, until: asked.to };
  return { since: sinceOf(asked), ...timesOfDay(asked.day) };
}
