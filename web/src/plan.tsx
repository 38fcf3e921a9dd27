import { productOfIde, productToday } from "../../src/base/ide-name.ts";
import type { LimitsEnvelope, LimitsOfIde, LimitsWindowEnvelope } from "../../src/usage/envelope.ts";
import { toneOf } from "../../src/usage/window-words.ts";
import { AlertSwitch } from "./alerts.tsx";
import { api, type LimitsHistory } from "./api.ts";
import { useTurnEnd } from "./live-turns.ts";
import { Loaded, Prose, Section } from "./parts.tsx";
import { type DataState, useData, useNow } from "./use-data.ts";
import { When } from "./when.tsx";
import { amountInWords, exactInWords, resetInWords, verdictInWords } from "./words.ts";

/** What is left of the plans: a bar for each limit, with the tick where an even pace would stand, and the pace in words. */
export function Plan({ limits }: { readonly limits: DataState<LimitsEnvelope> }) {
  const now = useNow(15_000);
  const { data: hours, reload } = useData("hours", (signal) => api.limitsHistory("3h", signal), 60_000);
  useTurnEnd(reload);
  return (
    <Section id="limits" title="Plan" aside={<Aside reload={limits.reload} />}>
      <Loaded state={limits} lines={6}>
        {(data) =>
          data.data.length === 0 ? (
            <NoIde errors={data.errors} />
          ) : (
            <>
              <div class="cards">
                {data.data.map((of) => (
                  <IdeCard
                    key={of.ide}
                    of={of}
                    now={now}
                    hours={hours}
                    errors={data.errors.filter(({ ide }) => ide === of.ide)}
                  />
                ))}
              </div>
              {data.errors
                .filter(({ ide }) => !data.data.some((of) => of.ide === ide))
                .map(({ ide, message, hint }) => (
                  <p key={ide ?? message} class="note">
                    {ide === null ? "" : `${productOfIde(ide)}: `}
                    <Prose text={`${message} ${hint}`} />
                  </p>
                ))}
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

function Aside({ reload }: { readonly reload: () => void }) {
  return (
    <div class="choices">
      <AlertSwitch />
      <button type="button" class="quiet" onClick={reload}>
        Read again
      </button>
    </div>
  );
}

function IdeCard(props: {
  readonly of: LimitsOfIde;
  readonly now: number;
  readonly hours: LimitsHistory | undefined;
  readonly errors: LimitsEnvelope["errors"];
}) {
  const { of, now, hours } = props;
  const main = of.windows.filter((window) => window.scope !== "model");
  const models = of.windows.filter((window) => window.scope === "model");
  return (
    <article class="card" aria-label={`Limits of ${productOfIde(of.ide)}`}>
      <header>
        <h3>{productOfIde(of.ide)}</h3>
        {of.plan_name !== null && <span class="badge">{of.plan_name}</span>}
        {of.stand_in && <span class="badge warn">stand-in</span>}
        {of.stale && Date.parse(of.expires_at) < now && <span class="badge warn">stale</span>}
        <span class="muted age">
          read <When at={of.fetched_at} now={now} isPast />
        </span>
      </header>
      {main.length === 0 && <p class="muted">The IDE reported no limits of the plan, so they are unknown.</p>}
      {main.map((window) => (
        <Window
          key={window.id}
          window={window}
          now={now}
          moved={movedInLastHour(hours, `${of.ide} ${window.id}`, now)}
        />
      ))}
      {models.length > 0 && (
        <details>
          <summary>By model ({models.length})</summary>
          {models.map((window) => (
            <Window key={window.id} window={window} now={now} />
          ))}
        </details>
      )}
      {props.errors.map(({ message, hint }) => (
        <p key={message} class="note">
          <Prose text={`${message} ${hint}`} />
        </p>
      ))}
    </article>
  );
}

function Window(props: {
  readonly window: LimitsWindowEnvelope;
  readonly now: number;
  readonly moved?: number | undefined;
}) {
  const { window, now, moved = 0 } = props;
  const tone = toneOf(window);
  const verdict = verdictInWords(window, now);
  const reset = resetInWords(window, now);
  const elapsed = window.pace?.elapsed ?? null;
  const isOver = window.resets_at !== null && Date.parse(window.resets_at) <= now;
  return (
    <div class={`window ${tone}`} data-window={window.id}>
      <div class="line">
        <span class="label">{window.label}</span>
        <span class="amount">{amountInWords(window)}</span>
      </div>
      {window.utilization !== null && (
        <div
          class={isOver ? "meter over" : "meter"}
          role="meter"
          aria-label={window.label}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(window.utilization * 100)}
          aria-valuetext={[amountInWords(window), reset, verdict].filter((text) => text !== "").join(", ")}
        >
          <span class="fill" style={{ width: `${window.utilization * 100}%` }} />
          {elapsed !== null && (
            <span class="tick" style={{ left: `${elapsed * 100}%` }} title="Where an even pace would be now" />
          )}
        </div>
      )}
      {(reset !== "" || verdict !== "") && (
        <div class="line small">
          <span class="verdict" title={absolute(window.pace?.runs_out_at ?? null)}>
            {verdict}
          </span>
          <span class="muted" title={absolute(window.resets_at)}>
            {moved >= 0.005 && `+${Math.round(moved * 100)} % in the last hour, `}
            {reset}
          </span>
        </div>
      )}
    </div>
  );
}

const hourMs = 3_600_000;

/** How much more of a window is used than an hour ago, 0..1; undefined where a reading is missing or the window was reset since. */
export function movedInLastHour(history: LimitsHistory | undefined, of: string, nowMs: number): number | undefined {
  const points = history?.data.find(({ ide, window }) => `${ide} ${window}` === of)?.points ?? [];
  const last = points.at(-1);
  const before = points.findLast(([at]) => at * 1000 <= nowMs - hourMs) ?? points[0];
  if (last === undefined || before === undefined || last === before) return undefined;
  const [[, from], [, to]] = [before, last];
  if (from === null || to === null || to < from) return undefined;
  const spanMs = (last[0] - before[0]) * 1000;
  return spanMs > hourMs ? ((to - from) * hourMs) / spanMs : to - from;
}

function absolute(at: string | null): string | undefined {
  return at === null ? undefined : exactInWords(Date.parse(at));
}

function NoIde({ errors }: { readonly errors: LimitsEnvelope["errors"] }) {
  const [error] = errors;
  return (
    <div class="card empty">
      <h3>No limits yet</h3>
      <p>
        <Prose text={error?.message ?? "No IDE answered."} />
      </p>
      <ol>
        <li>Start {productToday} and sign in there.</li>
        <li>
          If it runs, <code>millrace doctor</code> shows what was checked and why it cannot be used.
        </li>
      </ol>
    </div>
  );
}
