import { useCallback, useEffect, useState } from "preact/hooks";
import type { TurnRowEnvelope } from "../../src/usage/turn-page-envelope.ts";
import { type ApiError, api, type Resumption, type TimelineEntry, type TurnDetail } from "./api.ts";
import { readBatches } from "./event-stream.ts";
import { onLinkChange, silentSince } from "./gateway-link.ts";
import { Failure, Loading } from "./parts.tsx";
import { answerOf, rowsOf } from "./turn-rows.ts";
import { Outcome, Sealed, tokensInWords } from "./turns-section.tsx";
import { report, useData } from "./use-data.ts";
import { count, ideName, instantInWords, reasonInWords, spanInWords } from "./words.ts";

/** One turn: what it was asked for, how it went, its events and who came back to it in order; its texts where the user wants them here. */
export function TurnPage({ id }: { readonly id: string }) {
  const { data: turn, error, reload } = useData(id, (signal) => api.turn(id, signal));
  const kept = useData(`kept ${id}`, (signal) => keptTurn(id, signal));
  const onEnd = useCallback(() => {
    reload();
    kept.reload();
  }, [reload, kept.reload]);
  const timeline = useTimeline(id, onEnd);
  useEffect(() => {
    document.title = `${turn?.model ?? "Turn"} · Millrace`;
  }, [turn?.model]);
  return (
    <>
      <nav aria-label="Breadcrumb">
        <a href="#/">← Overview</a>
      </nav>
      {error !== undefined && (error.status === 404 ? <Forgotten kept={kept.data} /> : <Failure error={error} />)}
      {turn === undefined && error === undefined && <Loading lines={4} />}
      {turn !== undefined && (
        <>
          <Facts turn={turn} credits={kept.data?.credits ?? null} />
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
        <h1 id="turn">This turn is not known</h1>
        <p class="card">Check the address. Old turns are removed from the log, and later from the usage history too.</p>
      </section>
    );
  return (
    <section aria-labelledby="turn">
      <h1 id="turn">{kept.model_name}</h1>
      <p class="muted">The log no longer has the events of this turn. The usage history has these figures.</p>
      <dl class="card facts">
        <Fact
          name="Status"
          value={kept.status === "finished" ? "finished" : `${kept.status}: ${reasonInWords(kept.reason)}`}
        />
        <Fact name="Started" value={instantInWords(Date.parse(kept.created_at))} />
        <Fact name="Took" value={spanInWords(kept.duration_ms)} />
        <Fact name="First token" value={kept.first_token_ms === null ? "unknown" : spanInWords(kept.first_token_ms)} />
        <Fact
          name="Tokens"
          value={kept.tokens === null ? "unknown" : `${count(kept.tokens.in)} in, ${count(kept.tokens.out)} out`}
        />
        <Fact name="Credits" value={kept.credits === null ? "unknown" : count(kept.credits)} />
        <Fact name="Client" value={kept.client ?? "unknown"} />
        <Fact name="Project" value={kept.project ?? "unknown"} />
        <Fact name="API" value={kept.api} />
        <Fact name="Turn" value={kept.id} isWide />
      </dl>
    </section>
  );
}

function Facts({ turn, credits }: { readonly turn: TurnDetail; readonly credits: number | null }) {
  const startedMs = Date.parse(turn.created_at);
  return (
    <section aria-labelledby="turn">
      <div class="heading">
        <h1 id="turn">{turn.model}</h1>
        <span class="figures">
          <Sealed turn={turn} />
          <Outcome turn={turn} />
        </span>
      </div>
      <dl class="card facts">
        <Fact name="Started" value={instantInWords(startedMs)} />
        <Fact name="Took" value={durationOf(turn)} />
        <Fact name="First token" value={firstTokenOf(turn)} />
        <Fact name="Tokens" value={tokensInWords(turn)} />
        {credits !== null && <Fact name="Credits" value={count(credits)} />}
        {turn.ide_tools !== null && turn.ide_tools.length > 0 && (
          <Fact name="Used by the IDE's agent" value={turn.ide_tools.join(", ")} />
        )}
        <Fact
          name="Answer"
          value={turn.characters === null ? "size unknown" : `${count(turn.characters)} characters`}
        />
        <Fact name="Client" value={turn.client ?? "not told"} />
        <Fact name="Project" value={turn.project ?? "not told"} />
        <Fact name="Key" value={turn.key ?? "not known"} />
        <Fact name="API" value={turn.dialect} />
        <Fact name="IDE" value={turn.ide === null ? "not told" : ideName(turn.ide)} />
        <Fact name="Model UID" value={turn.model_uid} />
        <Fact name="Turn" value={turn.id} isWide />
      </dl>
    </section>
  );
}

function durationOf({ status, created_at, ended_at }: TurnDetail): string {
  if (ended_at !== null) return spanInWords(Date.parse(ended_at) - Date.parse(created_at));
  return status === "running" ? "still running" : "unknown";
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
      <dd>{value}</dd>
    </div>
  );
}

function Events({ turn, timeline }: { readonly turn: TurnDetail; readonly timeline: Timeline }) {
  const rows = rowsOf(timeline.entries, timeline.resumptions);
  const returns = timeline.resumptions.length;
  return (
    <section aria-labelledby="events">
      <div class="heading">
        <h2 id="events">Events</h2>
        <span class="muted small">
          {turn.resumptions === null
            ? "Who resumed it is unknown: the usage history cannot be read."
            : returns === 0
              ? "Nobody resumed this turn."
              : `Resumed ${returns === 1 ? "once" : `${returns} times`}.`}
        </span>
      </div>
      {timeline.error !== undefined && <Failure error={timeline.error} />}
      <ol class="card timeline">
        {rows.map((row) => (
          <li key={row.id} class={row.type.replaceAll(" ", "_")}>
            <span class="at">{sinceInWords(Date.parse(row.at) - Date.parse(turn.created_at))}</span>
            <span class="type">{row.type}</span>
            <span class="muted">{row.words}</span>
          </li>
        ))}
        {rows.length === 0 && (
          <li class="muted none">{turn.status === "running" ? "No event yet." : "No event is known."}</li>
        )}
      </ol>
    </section>
  );
}

function sinceInWords(ms: number): string {
  return ms < 0 ? `−${spanInWords(-ms)}` : `+${spanInWords(ms)}`;
}

/** Prompt and answer, or how to see them here. */
function Texts({ turn, entries }: { readonly turn: TurnDetail; readonly entries: readonly TimelineEntry[] }) {
  const answer = answerOf(entries);
  return (
    <section aria-labelledby="texts">
      <div class="heading">
        <h2 id="texts">Texts</h2>
      </div>
      {turn.sealed ? (
        <p class="card muted">
          The client encrypted this turn with its own key. Only that client can read the prompt and the answer.
        </p>
      ) : !turn.shows_text ? (
        <p class="card muted">
          Prompts and answers are not shown here. To see them, start the gateway with{" "}
          <code>millrace serve --dashboard-text</code>; they can be read as long as the log keeps the turn.
        </p>
      ) : (
        <div class="card texts">
          {turn.prompt?.map(({ role, text }, index) => (
            <Text key={index} title={role} text={text} isOpen={index === (turn.prompt?.length ?? 0) - 1} />
          ))}
          {answer.thinking !== "" && <Text title="thinking" text={answer.thinking} isOpen={false} />}
          <Text title="answer" text={answer.text} isOpen={true} />
        </div>
      )}
    </section>
  );
}

function Text({ title, text, isOpen }: { readonly title: string; readonly text: string; readonly isOpen: boolean }) {
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      {text === "" ? <p class="muted">no text</p> : <pre>{text}</pre>}
    </details>
  );
}

interface Timeline {
  readonly entries: readonly TimelineEntry[];
  readonly resumptions: readonly Resumption[];
  readonly error: ApiError | undefined;
}

const nothing: Timeline = { entries: [], resumptions: [], error: undefined };

/** Follows the turn to its end. Entries that come together are shown together: an old turn may have thousands. */
function useTimeline(id: string, onEnd: () => void): Timeline {
  const [timeline, setTimeline] = useState(nothing);
  const [round, setRound] = useState(0);
  useEffect(() => onLinkChange(() => silentSince() === undefined && setRound((count) => count + 1)), []);
  useEffect(() => {
    const stop = new AbortController();
    const follow = async () => {
      for await (const events of readBatches(await api.stream(`/v1/turns/${id}/timeline`, stop.signal))) {
        const entries = events.filter(({ name }) => name === "entry").map(({ data }) => JSON.parse(data));
        const resumptions = events.filter(({ name }) => name === "resumption").map(({ data }) => JSON.parse(data));
        setTimeline((before) => ({
          ...before,
          entries: [...before.entries, ...(entries as TimelineEntry[])], // the timeline's own forms
          resumptions: [...before.resumptions, ...(resumptions as Resumption[])],
        }));
      }
      onEnd();
    };
    setTimeline(nothing);
    follow().catch((failure: unknown) => {
      if (stop.signal.aborted) return;
      const shown = report(failure);
      setTimeline((before) => ({ ...before, error: shown }));
    });
    return () => stop.abort();
  }, [id, onEnd, round]);
  return timeline;
}
