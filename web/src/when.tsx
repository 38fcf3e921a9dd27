import { exactInWords, instantInWords, whenInWords } from "./words.ts";

/**
 * An instant as the page writes it: relative, with the absolute time under the pointer and for screen readers. `isPast` says that it has
 * happened: the page's clock is renewed now and then only, and may be behind it.
 */
export function When(props: { readonly at: string; readonly now: number; readonly isPast?: boolean }) {
  const { at, now, isPast = false } = props;
  const atMs = Date.parse(at);
  return (
    <time dateTime={new Date(atMs).toISOString()} title={exactInWords(atMs)}>
      {whenInWords(isPast ? Math.min(atMs, now) : atMs, now)}
      <span class="hidden">{`, ${instantInWords(atMs)}`}</span>
    </time>
  );
}
