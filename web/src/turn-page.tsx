import { Fragment } from "preact";
import { useCallback } from "preact/hooks";
import { productOfIde } from "../../src/base/ide-name.ts";
import { type Credits, creditsOf } from "../../src/usage/prices.ts";
import type { TurnRowEnvelope } from "../../src/usage/turn-page-envelope.ts";
import { api, type TimelineEntry, type TurnDetail } from "./api.ts";
import { useLiveTurns } from "./live-turns.ts";
import { Failure, Loading, Prose } from "./parts.tsx";
import { creditsInWords } from "./prices.ts";
import { KeptFor } from "./texts.tsx";
import { useTitle } from "./title.ts";
import { TurnActions } from "./turn-actions.tsx";
import { Events } from "./turn-events.tsx";
import { soFar } from "./turn-so-far.ts";
import { Texts } from "./turn-texts.tsx";
import { Outcome, Sealed, tokensInWords, WithoutClient } from "./turn-words.tsx";
import { useData, useNow, useTurnClock } from "./use-data.ts";
import { useTimeline } from "./use-timeline.ts";
import { When } from "./when.tsx";
import { ageInWords, count, endInWords, hintFor, modelName, reasonInWords, spanInWords } from "./words.ts";

/** One turn: what it was asked for, how it went, its events and who came back to it in order; its texts where the user wants them here. */
export function TurnPage({ id }: { readonly id: string }) {
  const { data: turn, error, reload } = useData(id, (signal) => api.turn(id, signal));
  const kept = useData(`kept ${id}`, (signal) => keptTurn(id, signal));
  const onEnd = useCallback(() => {
    reload();
    kept.reload();
  }, [reload, kept.reload]);
  const timeline = useTimeline(id, onEnd);
  useTitle(turn === undefined ? "Turn" : modelName(turn));
  return (
    <>
      <nav aria-label="Breadcrumb">
        <a href="#/">← Overview</a>
      </nav>
      {error !== undefined &&
        (error.status === 404 ? <Forgotten kept={kept.data} /> : <Failure error={error} onRetry={reload} />)}
      {turn === undefined && error === undefined && <Loading lines={4} />}
      {turn !== undefined && (
        <>
          <Facts turn={turn} credits={kept.data && creditsOf(kept.data)} entries={timeline.entries} />
          <Events turn={turn} timeline={timeline} />
          <Texts turn={turn} entries={timeline.entries} />
        </>
      )}
    </>
  );
}

async function keptTurn(id: string, signal: AbortSignal): Promise<TurnRowEnvelope | undefined> {
  const { data } = await api.turnPage({ id, since: "400d", limit: "1", totals: "0" }, signal);
  return data[0];
}

/** A turn whose events are gone, or that never was: what the usage history still knows of it. */
function Forgotten({ kept }: { readonly kept: TurnRowEnvelope | undefined }) {
  if (kept === undefined)
    return (
      <section aria-labelledby="turn">
        <h1 id="turn">This turn is unknown</h1>
        <p class="card">Check the address. Old turns are removed from the log, and later from the usage history too.</p>
      </section>
    );
  const credits = creditsOf(kept);
  return (
    <section aria-labelledby="turn">
      <h1 id="turn">{modelName(kept)}</h1>
      <p class="muted">
        The texts and events of this turn are deleted. The usage history has these figures. <KeptFor />
      </p>
      {kept.status === "failed" && <WhyFailed code={kept.reason} />}
      <dl class="card facts">
        <Fact name="Status" value={endInWords(kept.status, kept.reason)} />
        <Started at={kept.created_at} />
        <Fact name="Took" value={spanInWords(kept.duration_ms)} />
        <Fact name="First token" value={kept.first_token_ms === null ? "unknown" : spanInWords(kept.first_token_ms)} />
        <Fact
          name="Tokens"
          value={kept.tokens === null ? "unknown" : `${count(kept.tokens.in)} in, ${count(kept.tokens.out)} out`}
        />
        <Fact name="Credits" value={credits === undefined ? "unknown" : creditsInWords(credits)} />
        <Fact name="Client" value={kept.client ?? "unknown"} />
        <Fact name="Project" value={kept.project ?? "unknown"} isWide={kept.project !== null} />
        <Fact name="API" value={kept.api} />
        <Fact name="Turn" value={kept.id} isWide />
      </dl>
    </section>
  );
}

function Facts(props: {
  readonly turn: TurnDetail;
  readonly credits: Credits | undefined;
  readonly entries: readonly TimelineEntry[];
}) {
  const { credits, entries } = props;
  const turn = soFar(props.turn, entries);
  const now = useTurnClock();
  const live = useLiveTurns().turns.get(turn.id); // its summary was read once, when the page opened
  const error = entries.findLast((entry) => entry.error !== undefined)?.error;
  return (
    <section aria-labelledby="turn">
      <div class="heading">
        <div class="title">
          <h1 id="turn">{modelName(turn)}</h1>
          <Sealed turn={turn} />
          <Outcome status={turn.outcome} reason={turn.reason} />
          <WithoutClient turn={live ?? turn} now={now} />
        </div>
        <TurnActions turn={turn} entries={entries} />
      </div>
      {turn.outcome === "failed" && (
        <WhyFailed code={error?.code ?? turn.reason ?? ""} message={error?.message} hint={error?.hint} />
      )}
      <dl class="card facts">
        <Started at={turn.created_at} />
        <Fact name="Took" value={durationOf(turn, now)} />
        <Fact name="First token" value={firstTokenOf(turn)} />
        <Fact name="Tokens" value={tokensInWords(turn)} />
        {credits !== undefined && <Fact name="Credits" value={creditsInWords(credits)} />}
        {turn.ide_tools !== null && turn.ide_tools.length > 0 && (
          <Fact name="Read by the IDE's agent" value={turn.ide_tools.map(reasonInWords).join(", ").toLowerCase()} />
        )}
        <Fact
          name="Answer"
          value={turn.characters === null ? "size unknown" : `${count(turn.characters)} characters`}
        />
        <Fact name="Client" value={turn.client ?? "unknown"} />
        <Fact name="Project" value={turn.project ?? "unknown"} isWide={turn.project !== null} />
        <Fact name="Key" value={turn.key ?? "unknown"} />
        <Fact name="API" value={turn.dialect} />
        <Fact name="IDE" value={turn.ide === null ? "unknown" : productOfIde(turn.ide)} />
        <Fact name="Asked for" value={turn.model} />
        <Fact name="Model UID" value={turn.model_uid} />
        <Fact name="Turn" value={turn.id} isWide />
      </dl>
    </section>
  );
}

function durationOf({ status, created_at, ended_at }: TurnDetail, nowMs: number): string {
  if (ended_at !== null) return spanInWords(Date.parse(ended_at) - Date.parse(created_at));
  return status === "running" ? `${ageInWords(nowMs - Date.parse(created_at))}, still running` : "unknown";
}

/** An answer whose size is known to be nothing had no first token; of any other it may only not be known. */
function firstTokenOf({ status, first_token_ms, characters }: TurnDetail): string {
  if (first_token_ms !== null) return spanInWords(first_token_ms);
  if (characters !== 0) return "unknown";
  return status === "running" ? "not yet" : "none";
}

function Fact(props: { readonly name: string; readonly value: string; readonly isWide?: boolean }) {
  const { name, value, isWide = false } = props;
  return (
    <div class={isWide ? "wide" : undefined}>
      <dt>{name}</dt>
      <dd>
        {value.split(/(?<=[\\/])/).map((part, at) => (
          <Fragment key={at}>
            {at > 0 && <wbr />}
            {part}
          </Fragment>
        ))}
      </dd>
    </div>
  );
}

function Started({ at }: { readonly at: string }) {
  const now = useNow(15_000);
  return (
    <div>
      <dt>Started</dt>
      <dd>
        <When at={at} now={now} isPast />
      </dd>
    </div>
  );
}

/** What went wrong and what to do. Of a sealed or forgotten turn only the error's code is known. */
function WhyFailed(props: {
  readonly code: string;
  readonly message?: string | undefined;
  readonly hint?: string | undefined;
}) {
  const { code, message = `It failed: ${reasonInWords(code)}.`, hint = hintFor(code) } = props;
  return (
    <p class="failure why">
      <strong>{message}</strong> <Prose text={hint} /> <code class="muted">{code}</code>
    </p>
  );
}
