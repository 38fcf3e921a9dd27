import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { TurnRowEnvelope } from "../../src/usage/turn-page-envelope.ts";
import type { Health } from "./api.ts";
import { Prose } from "./parts.tsx";
import { noteAlerted, wasAlerted } from "./settings.ts";
import { useNow } from "./use-data.ts";
import { When } from "./when.tsx";
import { clockInWords, count, hintFor, modelName, reasonInWords, whenInWords } from "./words.ts";

type Refusals = NonNullable<Health["refused"]>["by"];
type Blocks = NonNullable<Health["blocked"]>;

const shownForMs = 24 * 3_600_000;

/** What went wrong of late: each a line that opens, and that the user can close. */
export function Notices(props: { readonly health: Health | undefined; readonly last: TurnRowEnvelope | undefined }) {
  const { health, last } = props;
  const now = useNow(1000);
  const blocked = (health?.blocked ?? []).filter(({ until }) => Date.parse(until) > now);
  const refused = (health?.refused?.by ?? []).filter(({ last_at }) => now - Date.parse(last_at) < shownForMs);
  return (
    <div class="notices">
      {blocked.length > 0 && <Blocked blocked={blocked} now={now} />}
      {refused.length > 0 && <Refused by={refused} now={now} />}
      {last !== undefined && <LastFailure turn={last} blocked={health?.blocked ?? []} />}
    </div>
  );
}

/** One line, with more under it. `id` names what it is about: something newer is shown again. */
function Notice(props: {
  readonly id: string;
  readonly line: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const { id, line, children } = props;
  const [closed, setClosed] = useState<string>();
  if (closed === id || wasAlerted(id)) return null;
  const close = () => {
    noteAlerted(id);
    setClosed(id);
  };
  return (
    <div class="notice small">
      <details>
        <summary>{line}</summary>
        {children}
      </details>
      <button type="button" class="quiet" onClick={close} aria-label={`Close: ${id.split(" ")[0]}`}>
        Close
      </button>
    </div>
  );
}

function Blocked({ blocked, now }: { readonly blocked: Blocks; readonly now: number }) {
  const [first] = blocked;
  const line =
    blocked.length === 1 && first !== undefined
      ? `${first.model_name} is blocked until ${clockInWords(Date.parse(first.until))}`
      : `${count(blocked.length)} models are blocked by a limit`;
  return (
    <Notice id={`Blocked ${blocked.map(({ model, until }) => model + until).join(" ")}`} line={line}>
      <ul class="plain-list" aria-label="Blocked models">
        {blocked.slice(0, mostShown).map(({ model, model_name, code, until }) => (
          <li key={model}>
            <strong>{model_name}</strong>
            {` until ${clockInWords(Date.parse(until))} `}
            <span class="muted">{`(${whenInWords(Date.parse(until), now)}): ${reasonInWords(code)}`}</span>
          </li>
        ))}
      </ul>
    </Notice>
  );
}

const mostShown = 8;

/** A hint says how long to wait from when it was given: the page says when. */
function welcomeInWords(atMs: number, nowMs: number): string {
  return atMs > nowMs ? `Such a request is welcome again ${clockInWords(atMs)}.` : "";
}

function Refused({ by, now }: { readonly by: Refusals; readonly now: number }) {
  const all = by.reduce((sum, { requests }) => sum + requests, 0);
  const latest =
    by
      .map(({ last_at }) => last_at)
      .toSorted()
      .at(-1) ?? "";
  const line = (
    <>
      {`${count(all)} ${all === 1 ? "request was" : "requests were"} refused, the last one `}
      <When at={latest} now={now} isPast />
    </>
  );
  return (
    <Notice id={`Refused ${latest}`} line={line}>
      <ul class="plain-list" aria-label="Refused requests">
        {by.slice(0, mostShown).map(({ client, code, requests, message, hint, until }) => (
          <li key={`${client} ${code}`}>
            <strong>{`${client}: ${count(requests)} refused`}</strong>
            {`, ${reasonInWords(code)}. `}
            <span class="muted">
              <Prose text={`${message} ${until === null ? hint : welcomeInWords(Date.parse(until), now)}`} />
            </span>
          </li>
        ))}
        {by.length > mostShown && <li class="muted">{`And ${count(by.length - mostShown)} other kinds.`}</li>}
      </ul>
    </Notice>
  );
}

/** The failure that the user may not have seen yet: when, what, why, and what to do. */
function LastFailure({ turn, blocked }: { readonly turn: TurnRowEnvelope; readonly blocked: Blocks }) {
  const isLimit = turn.reason === "quota_exhausted" || turn.reason === "rate_limited";
  const until = blocked.find(({ model }) => model === turn.model)?.until;
  const limit = until === undefined ? "" : `The limit ends ${clockInWords(Date.parse(until))}.`;
  const who = [modelName(turn), ...(turn.client === null ? [] : [turn.client])].join(" from ");
  const line = `Last failure ${clockInWords(Date.parse(turn.ended_at))}: ${reasonInWords(turn.reason)}`;
  return (
    <Notice id={`Failure ${turn.id}`} line={line}>
      <p>
        <a href={`#/turns/${turn.id}`}>{who}</a>. <Prose text={isLimit ? limit : hintFor(turn.reason)} />
      </p>
    </Notice>
  );
}
