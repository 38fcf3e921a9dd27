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
export function turnsBehind({ since, from, to, by }: PageQuery, filter: Partial<PageQuery>): string {
  return addressOf(asksFor({ since, from, to, by, ...filter }));
}

/** These parts of a query; the rest as the defaults have it. */
export function asksFor(part: Partial<PageQuery>): PageQuery {
  return { ...defaults, ...part };
}

/** Whether an address names turns of the list. */
export function namesTurns(): boolean {
  const asked = read();
  return names.some((name) => !["since", "from", "to", "by"].includes(name) && asked[name] !== defaults[name]);
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

/** Whether the address names both ends of a time. */
export function hasBothEnds({ from, to }: PageQuery): boolean {
  return Date.parse(from) < Date.parse(to);
}

/** The range of an address; the default one for any other word, none where it names both ends of a time. */
export function rangeOf(asked: PageQuery): Range | "" {
  if (hasBothEnds(asked)) return "";
  return ranges.find(([range]) => range === asked.since)?.[0] ?? defaults.since;
}

/** A part of time as the gateway is asked for it; ISO. Without an end it goes on. */
export interface Times {
  readonly since: string;
  readonly until?: string;
}

/** The time of the whole overview: both ends, or the range up to now, from the midnight with which its first day began. Today is its last day. */
export function timesOf(asked: PageQuery): Times {
  const range = rangeOf(asked);
  if (range === "") return { since: new Date(asked.from).toISOString(), until: new Date(asked.to).toISOString() };
  return { since: midnight(range === "today" ? 0 : 1 - Number.parseInt(range, 10)).toISOString() };
}

/** The midnight with which a day began, so many days after today. */
export function midnight(days: number): Date {
  const first = new Date(new Date().setHours(0, 0, 0, 0));
  first.setDate(first.getDate() + days);
  return first;
}
