import { type ComponentChildren, Fragment } from "preact";
import { useState } from "preact/hooks";
import type { ApiError } from "./api.ts";
import { useSilentSince } from "./gateway-link.ts";
import type { DataState } from "./use-data.ts";
import { clockInWords } from "./words.ts";

/** A titled part of the page. `aside` stands at the heading's right: a choice, a state. */
export function Section(props: {
  readonly id: string;
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section aria-labelledby={props.id}>
      <div class="heading">
        <h2 id={props.id}>{props.title}</h2>
        {props.aside}
      </div>
      {props.children}
    </section>
  );
}

/** What went wrong, and a way to try it again where there is one. */
export function Failure({ error, onRetry }: { readonly error: ApiError; readonly onRetry?: () => void }) {
  return (
    <p class="failure" role="alert">
      <strong>{error.message}</strong> <Prose text={error.hint} />{" "}
      {onRetry !== undefined && (
        <button type="button" class="quiet" onClick={onRetry}>
          Try again
        </button>
      )}
    </p>
  );
}

/** What a part of the page shows in each of its states: loading, shown, stale since a time, failed. */
export function Loaded<T>(props: {
  readonly state: DataState<T>;
  /** How many lines it will have, about. */
  readonly lines: number;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { state, lines, children } = props;
  const { data, error, readAtMs, isLoading, reload } = state;
  const isSilent = useSilentSince() !== undefined;
  if (data === undefined) {
    if (error !== undefined) return <Failure error={error} onRetry={reload} />;
    if (isSilent) return <p class="card muted">Nothing was read before the gateway fell silent.</p>;
    return <Loading lines={lines} />;
  }
  return (
    <>
      {error !== undefined && readAtMs !== undefined && (
        <div class="stale-since">
          <span class="badge warn">{`stale since ${clockInWords(readAtMs)}`}</span>
          <Failure error={error} onRetry={reload} />
        </div>
      )}
      <div class={isLoading ? "reloading" : undefined} aria-busy={isLoading}>
        {children(data)}
      </div>
    </>
  );
}

/** A sentence of the gateway, with what stands in backticks as code. */
export function Prose({ text }: { readonly text: string }) {
  const parts = text.split("`");
  return <>{parts.map((part, index) => (index % 2 === 1 ? <Code key={index} text={part} /> : part))}</>;
}

/** Code in a sentence. A line ends between its words, and not after a hyphen of an option. */
export function Code({ text }: { readonly text: string }) {
  return (
    <code>
      <Words texts={text.split(" ")} />
    </code>
  );
}

/** Names that are kept whole where a line ends; one that is longer than a line breaks. */
export function Words({ texts, between = " " }: { readonly texts: readonly string[]; readonly between?: string }) {
  return (
    <>
      {texts.map((text, index) => (
        <Fragment key={index}>
          {index > 0 && " "}
          <span class="word">{index < texts.length - 1 ? text + between.trimEnd() : text}</span>
        </Fragment>
      ))}
    </>
  );
}

/** Shapes where content will be, so that nothing jumps when it comes. */
export function Loading({ lines }: { readonly lines: number }) {
  return (
    <div class="card loading" role="status">
      <span class="hidden">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}

/** One of a few, as buttons. */
export function Choice<T extends string>(props: {
  readonly label: string;
  readonly options: readonly (readonly [value: T, text: string])[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}) {
  return (
    <fieldset class="choice">
      <legend class="hidden">{props.label}</legend>
      {props.options.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={props.value === value} onClick={() => props.onChange(value)}>
          {text}
        </button>
      ))}
    </fieldset>
  );
}

/** A line to copy. */
export function CopyLine({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="copy">
      <code>{text}</code>
      <CopyButton text={text} label={label}>
        Copy
      </CopyButton>
    </div>
  );
}

/** Copies a text; says so for two seconds. */
export function CopyButton(props: {
  readonly text: string;
  /** What is copied: `the address`. */
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  const { text, label, children } = props;
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      return; // the browser did not allow it: the text can still be selected
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()} aria-label={`Copy ${label}`}>
      {isCopied ? "Copied" : children}
    </button>
  );
}

export type Order = "asc" | "desc";

/** The heading of a column that a click sorts by; `order` while it is sorted by it. */
export function SortHead(props: {
  readonly title: string;
  readonly look?: string;
  readonly order: Order | undefined;
  /** The order that the first click gives. */
  readonly first: Order;
  readonly onSort: (order: Order) => void;
}) {
  const { title, look, order, first, onSort } = props;
  const next = order === undefined ? first : order === "asc" ? "desc" : "asc";
  return (
    <th
      scope="col"
      class={look}
      aria-sort={order === undefined ? undefined : order === "asc" ? "ascending" : "descending"}
    >
      <button type="button" class="sort" onClick={() => onSort(next)}>
        {title}
        <span aria-hidden="true">{order === undefined ? "" : order === "asc" ? " ↑" : " ↓"}</span>
      </button>
    </th>
  );
}

const mostShown = 12;
const mostEver = 500;

/** The first rows of a long list, and whether somebody wants more. A list has an end: the page would be as long as a book. */
export function useFirst<T>(all: readonly T[]) {
  const [isAll, setAll] = useState(false);
  const shown = all.slice(0, isAll ? mostEver : mostShown);
  const more =
    all.length <= mostShown ? null : (
      <p class="note">
        <button type="button" class="quiet" onClick={() => setAll(!isAll)}>
          {isAll ? `Show the first ${mostShown}` : `Show all ${all.length.toLocaleString()}`}
        </button>
        {isAll && all.length > mostEver && `The first ${mostEver} of ${all.length.toLocaleString()} are shown.`}
      </p>
    );
  return { shown, more, isAll };
}
