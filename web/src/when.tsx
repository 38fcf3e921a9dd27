import { instantInWords, whenInWords } from "./words.ts";

/** An instant as the page writes it: relative, with the absolute time under the pointer and for screen readers. */
export function When({ at, now }: { readonly at: string | number; readonly now: number }) {
  const atMs = typeof at === "number" ? at : Date.parse(at);
  return (
    <time dateTime={new Date(atMs).toISOString()} title={new Date(atMs).toLocaleString()}>
      {whenInWords(atMs, now)}
      <span class="hidden">{`, ${instantInWords(atMs)}`}</span>
    </time>
  );
}
