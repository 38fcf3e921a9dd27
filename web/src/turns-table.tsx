import { useEffect, useRef, useState } from "preact/hooks";
import type { TurnPageEnvelope, TurnRowEnvelope } from "../../src/usage/turn-page-envelope.ts";
import { api, type TurnsAsked } from "./api.ts";
import { ExportButtons } from "./export.tsx";
import { Failure, Loading, Section } from "./parts.tsx";
import { pageSize } from "./settings.ts";
import { useData, useNow } from "./use-data.ts";
import { When } from "./when.tsx";
import { count, folderOf, modelName, reasonInWords, spanInWords } from "./words.ts";

/** A column: what it is sorted by, and what it shows. */
const columns = [
  ["time", "Time", ""],
  ["status", "Status", ""],
  ["client", "Client", ""],
  ["project", "Project", "wide"],
  ["model", "Model", ""],
  ["dialect", "API", "wide"],
  ["tokens_in", "Tokens in", "number"],
  ["tokens_out", "Tokens out", "number"],
  ["credits", "Credits", "number"],
  ["first_token", "First token", "number wide"],
  ["duration", "Duration", "number"],
] as const;

const all: TurnsAsked = { since: "30d", sort: "time", order: "desc" };

/** Ended turns of the usage history: sorted, filtered, searched and paged by the gateway. */
export function TurnsTable({ reloadRef }: { readonly reloadRef: { current: () => void } }) {
  const [asked, setAsked] = useState(all);
  const [offset, setOffset] = useState(0);
  const query = { ...asked, offset: String(offset), limit: String(pageSize()) };
  const { data, error, reload } = useData(JSON.stringify(query), (signal) => api.turnPage(query, signal));
  const clients = useData("clients", (signal) => api.usage("400d", "client", signal));
  const models = useData("models", (signal) => api.usage("400d", "model", signal));
  const keys = useData("keys", (signal) => api.usage("400d", "key", signal));
  useEffect(() => {
    reloadRef.current = () => {
      reload();
      clients.reload();
      models.reload();
    };
  }, [reload, reloadRef, clients.reload, models.reload]);
  const change = (part: TurnsAsked) => {
    setAsked((before) => ({ ...before, ...part }));
    setOffset(0);
  };
  const total = data?.totals?.turns ?? 0;
  return (
    <Section id="ended" title="Latest turns" aside={<ExportButtons asked={asked} />}>
      <div class="filters">
        <Search onChange={(search) => change({ search })} />
        <Pick
          label="Status"
          options={["finished", "failed", "cancelled"].map((value) => [value, value] as const)}
          onChange={(status) => change({ status })}
        />
        <Pick
          label="Model"
          options={models.data?.data.map(({ key, name }) => [key ?? "", name ?? ""] as const) ?? []}
          onChange={(model) => change({ model })}
        />
        <Pick
          label="Client"
          options={clients.data?.data.map(({ key, name }) => [key ?? "", name ?? ""] as const) ?? []}
          onChange={(client) => change({ client })}
        />
        {(keys.data?.data.length ?? 0) > 1 && (
          <Pick
            label="Key"
            options={keys.data?.data.map(({ key, name }) => [key ?? "", name ?? ""] as const) ?? []}
            onChange={(key) => change({ key })}
          />
        )}
      </div>
      {error !== undefined && <Failure error={error} />}
      {data === undefined && error === undefined && <Loading lines={5} />}
      {data !== undefined && (
        <div class="card">
          {total === 0 ? (
            <p class="muted">No turn of the last 30 days matches.</p>
          ) : (
            <Rows page={data} asked={asked} onSort={change} />
          )}
          <Pager offset={offset} total={total} onChange={setOffset} />
        </div>
      )}
    </Section>
  );
}

function Search({ onChange }: { readonly onChange: (text: string) => void }) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      type="search"
      aria-label="Search turns"
      placeholder="Search id, project, error…"
      maxLength={200}
      onInput={({ currentTarget }) => {
        clearTimeout(timer.current);
        timer.current = setTimeout(() => onChange(currentTarget.value.trim()), 200);
      }}
    />
  );
}

function Pick(props: {
  readonly label: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
}) {
  return (
    <select aria-label={props.label} onChange={({ currentTarget }) => props.onChange(currentTarget.value)}>
      <option value="">{`${props.label}: all`}</option>
      {props.options
        .filter(([value]) => value !== "")
        .map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
    </select>
  );
}

function Rows(props: {
  readonly page: TurnPageEnvelope;
  readonly asked: TurnsAsked;
  readonly onSort: (part: TurnsAsked) => void;
}) {
  const { page, asked, onSort } = props;
  const now = useNow(15_000);
  return (
    <div class="scroll">
      <table class="turns">
        <caption class="hidden">Turns that ended in the last 30 days</caption>
        <thead>
          <tr>
            {columns.map(([sort, title, look]) => {
              const isSorted = asked.sort === sort;
              const order = isSorted && asked.order === "desc" ? "asc" : "desc";
              return (
                <th
                  key={sort}
                  scope="col"
                  class={`${look} of-${sort}`}
                  aria-sort={isSorted ? (asked.order === "asc" ? "ascending" : "descending") : undefined}
                >
                  <button type="button" class="sort" onClick={() => onSort({ sort, order })}>
                    {title}
                    <span aria-hidden="true">{isSorted ? (asked.order === "asc" ? " ↑" : " ↓") : ""}</span>
                  </button>
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {page.data.map((turn) => (
            <TurnRow key={turn.id} turn={turn} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function TurnRow({ turn, now }: { readonly turn: TurnRowEnvelope; readonly now: number }) {
  const { tokens } = turn;
  const mark = tokens?.estimated === true ? "~" : "";
  return (
    <tr class={turn.status}>
      <td class="of-time">
        <When at={turn.created_at} now={now} isPast />
      </td>
      <td class="of-status">
        <span class={`badge ${turn.status === "failed" ? "bad" : turn.status === "finished" ? "good" : "plain"}`}>
          {turn.status === "finished" ? "finished" : `${turn.status}: ${reasonInWords(turn.reason)}`}
        </span>
      </td>
      <td class="of-client">{turn.client ?? "–"}</td>
      <td class="wide" title={turn.project ?? undefined}>
        {folderOf(turn.project) ?? "–"}
      </td>
      <th scope="row" class="of-model">
        <a href={`#/turns/${turn.id}`} title={modelName(turn)}>
          {modelName(turn)}
        </a>
      </th>
      <td class="wide">{turn.api}</td>
      <td class="number of-tokens_in">{tokens === null ? "–" : mark + count(tokens.in)}</td>
      <td class="number of-tokens_out">{tokens === null ? "–" : mark + count(tokens.out)}</td>
      <td class="number of-credits">{turn.credits === null ? "–" : count(turn.credits)}</td>
      <td class="number wide">{turn.first_token_ms === null ? "–" : spanInWords(turn.first_token_ms)}</td>
      <td class="number of-duration">{spanInWords(turn.duration_ms)}</td>
    </tr>
  );
}

function Pager(props: {
  readonly offset: number;
  readonly total: number;
  readonly onChange: (offset: number) => void;
}) {
  const { offset, total, onChange } = props;
  const size = pageSize();
  if (total <= size) return null;
  const last = Math.floor((total - 1) / size) * size;
  return (
    <nav class="pager" aria-label="Pages of turns">
      <button type="button" disabled={offset === 0} onClick={() => onChange(0)}>
        First
      </button>
      <button type="button" disabled={offset === 0} onClick={() => onChange(offset - size)}>
        Previous
      </button>
      <span role="status">{`${count(offset + 1)}–${count(Math.min(total, offset + size))} of ${count(total)}`}</span>
      <button type="button" disabled={offset >= last} onClick={() => onChange(offset + size)}>
        Next
      </button>
      <button type="button" disabled={offset >= last} onClick={() => onChange(last)}>
        Last
      </button>
    </nav>
  );
}
