import { useEffect, useState } from "preact/hooks";
import { type ApiError, api, type TimelineEntry } from "./api.ts";
import { readEvents } from "./event-stream.ts";
import { Failure, Loading } from "./parts.tsx";
import { Outcome, tokensInWords } from "./turns-section.tsx";
import { report, useData } from "./use-data.ts";
import { count, instantInWords, spanInWords } from "./words.ts";

/** One turn: what it was asked for, how it went, and its events in order. Texts are not shown: they stay in the log. */
export function TurnPage({ id }: { readonly id: string }) {
  const { data: turn, error, reload } = useData(id, (signal) => api.turn(id, signal));
  const timeline = useTimeline(id, reload);
  useEffect(() => {
    document.title = `${turn?.model ?? "Turn"} · Millrace`;
  }, [turn?.model]);
  return (
    <>
      <nav aria-label="Breadcrumb">
        <a href="#/">← Overview</a>
      </nav>
      {error !== undefined && <Failure error={error} />}
      {turn === undefined && error === undefined && <Loading lines={4} />}
      {turn !== undefined && (
        <section aria-labelledby="turn">
          <div class="heading">
            <h1 id="turn">{turn.model}</h1>
            <Outcome turn={turn} />
          </div>
          <dl class="card facts">
            <Fact name="Model UID" value={turn.model_uid} />
            <Fact name="Started" value={instantInWords(Date.parse(turn.created_at))} />
            <Fact
              name="Took"
              value={
                turn.ended_at === null ? "runs" : spanInWords(Date.parse(turn.ended_at) - Date.parse(turn.created_at))
              }
            />
            <Fact name="First token" value={turn.first_token_ms === null ? "none" : spanInWords(turn.first_token_ms)} />
            <Fact name="Tokens" value={tokensInWords(turn)} />
            <Fact name="API" value={turn.dialect} />
            <Fact name="Client" value={turn.client ?? "not told"} />
            <Fact name="Project" value={turn.project ?? "not told"} />
            <Fact name="Turn" value={turn.id} />
          </dl>
        </section>
      )}
      <section aria-labelledby="events">
        <div class="heading">
          <h2 id="events">Events</h2>
        </div>
        {timeline.error !== undefined && <Failure error={timeline.error} />}
        <ol class="card timeline">
          {grouped(timeline.entries).map((entry) => (
            <li key={entry.id} class={entry.type}>
              <span class="at">
                {turn === undefined ? "" : `+${spanInWords(Date.parse(entry.at) - Date.parse(turn.created_at))}`}
              </span>
              <span class="type">{entry.type.replaceAll("_", " ")}</span>
              <span class="muted">{entry.words}</span>
            </li>
          ))}
          {timeline.entries.length === 0 && <li class="muted">No event yet.</li>}
        </ol>
        <p class="note">The texts of prompts and answers are not shown here.</p>
      </section>
    </>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

interface Row {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly words: string;
}

/** Deltas of one kind that follow each other are one row. */
function grouped(entries: readonly TimelineEntry[]): readonly Row[] {
  const rows: { id: string; type: string; at: string; detail: string | null; deltas: number; characters: number }[] =
    [];
  for (const { id, type, at, detail, characters } of entries) {
    const last = rows.at(-1);
    const isDelta = type === "text" || type === "thinking" || type === "tool_call";
    if (isDelta && last?.type === type && last.detail === detail) {
      last.deltas++;
      last.characters += characters ?? 0;
    } else rows.push({ id, type, at, detail, deltas: 1, characters: characters ?? 0 });
  }
  return rows.map(({ detail, deltas, characters, ...row }) => {
    const size =
      characters === 0 ? "" : `${count(characters)} characters${deltas > 1 ? ` in ${count(deltas)} deltas` : ""}`;
    return { ...row, words: [detail, size].filter((part) => part !== null && part !== "").join(", ") };
  });
}

function useTimeline(id: string, onEnd: () => void) {
  const [entries, setEntries] = useState<readonly TimelineEntry[]>([]);
  const [error, setError] = useState<ApiError>();
  useEffect(() => {
    const stop = new AbortController();
    const follow = async () => {
      for await (const event of readEvents(await api.stream(`/v1/turns/${id}/timeline`, stop.signal))) {
        if (event.name !== "entry") continue;
        const entry = JSON.parse(event.data) as TimelineEntry; // the timeline's own form
        setEntries((before) => [...before, entry]);
      }
      onEnd();
    };
    follow().catch((failure: unknown) => {
      if (!stop.signal.aborted) setError(report(failure));
    });
    return () => stop.abort();
  }, [id, onEnd]);
  return { entries, error };
}
