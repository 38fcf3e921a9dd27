import type { TurnDetail } from "./api.ts";
import { Failure, Section } from "./parts.tsx";
import { type Phase, type PhaseKind, phasesOf, timeByKind } from "./turn-phases.ts";
import { rowsOf } from "./turn-rows.ts";
import { useTurnClock } from "./use-data.ts";
import type { Timeline } from "./use-timeline.ts";
import { spanInWords } from "./words.ts";

const kinds = {
  waiting: "waiting for the IDE",
  prompt: "waiting for the model",
  thinking: "thinking",
  text: "text",
  tool_call: "tool calls",
} as const satisfies Record<PhaseKind, string>;

/** What happened in a turn: its time as one bar, and each event as a line. */
export function Events({ turn, timeline }: { readonly turn: TurnDetail; readonly timeline: Timeline }) {
  const rows = rowsOf(timeline.entries);
  const createdMs = Date.parse(turn.created_at);
  return (
    <Section id="events" title="Time line">
      {timeline.error !== undefined && <Failure error={timeline.error} onRetry={timeline.retry} />}
      {timeline.isBroken && (
        <p class="note" role="status">
          The connection broke. The page tries again by itself.
        </p>
      )}
      <div class="card">
        <PhaseBar turn={turn} timeline={timeline} />
        <ol class="timeline">
          {rows.length > 0 && (
            <li>
              <span class="at">+0 ms</span>
              <span class="type">asked</span>
              <span class="muted">{`through ${turn.dialect}`}</span>
            </li>
          )}
          {rows.map((row) => (
            <li key={row.id} class={row.type.replaceAll(" ", "_")}>
              <span class="at">{sinceInWords(Date.parse(row.at) - createdMs)}</span>
              <span class="type">{row.type}</span>
              <span class="muted">{row.words}</span>
            </li>
          ))}
          {rows.length === 0 && (
            <li class="muted none">{turn.status === "running" ? "No event yet." : "No event is known."}</li>
          )}
        </ol>
      </div>
    </Section>
  );
}

function sinceInWords(ms: number): string {
  return ms < 0 ? `−${spanInWords(-ms)}` : `+${spanInWords(ms)}`;
}

/** The turn's time as one bar of phases. */
function PhaseBar({ turn, timeline }: { readonly turn: TurnDetail; readonly timeline: Timeline }) {
  const now = useTurnClock();
  const createdMs = Date.parse(turn.created_at);
  const phases = phasesOf(timeline.entries, createdMs, now);
  const [first, last] = [phases[0], phases.at(-1)];
  if (first === undefined || last === undefined) return null;
  const wholeMs = last.toMs - first.fromMs;
  const times = timeByKind(phases);
  const share = (ms: number) => `${(ms / wholeMs) * 100}%`;
  return (
    <div class="phases">
      <div class="phase-bar" aria-hidden="true">
        {phases.map((phase: Phase) => (
          <span
            key={phase.fromMs}
            class={`of-${phase.kind}`}
            style={{ left: share(phase.fromMs - first.fromMs), width: share(phase.toMs - phase.fromMs) }}
          />
        ))}
      </div>
      <ul class="legend">
        {[...times].map(([kind, ms]) => (
          <li key={kind}>
            <span class={`swatch block-swatch of-${kind}`} aria-hidden="true" />
            {kinds[kind]} <strong>{spanInWords(ms)}</strong>
          </li>
        ))}
      </ul>
    </div>
  );
}
