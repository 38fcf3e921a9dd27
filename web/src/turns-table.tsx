import { useContext, useEffect, useRef } from "preact/hooks";
import { creditsOf } from "../../src/usage/prices.ts";
import type { TurnPageEnvelope, TurnRowEnvelope } from "../../src/usage/turn-page-envelope.ts";
import { type PageQuery, timesOf } from "./address.ts";
import { api, type TurnsQuery } from "./api.ts";
import { ExportButtons } from "./export.tsx";
import { useTurnEnd } from "./live-turns.ts";
import { Loaded, type Order, Section, SortHead } from "./parts.tsx";
import { creditsInWords } from "./prices.ts";
import { TextsOfSession, TextsSwitch } from "./texts.tsx";
import { Outcome } from "./turn-words.tsx";
import { useData } from "./use-data.ts";
import { clockInWords, count, exactInWords, folderOf, isMistake, modelName, spanInWords } from "./words.ts";

/** A column: what it is sorted by, and what it shows. That of questions has no order, and is there only where texts are shown. */
const columns = [
  ["time", "Time", ""],
  ["status", "Status", ""],
  ["question", "Question", ""],
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

const pageSize = 25;

/** The query of the gateway for what is asked. */
function queryOf(asked: PageQuery): TurnsQuery {
  const { by: _, from: _from, to: _to, offset: __, ...filters } = asked;
  return { ...filters, ...timesOf(asked) };
}

/** Ended turns of the usage history: sorted, filtered, searched and paged by the gateway. */
export function TurnsTable(props: {
  readonly asked: PageQuery;
  readonly onChange: (part: Partial<PageQuery>) => void;
}) {
  const { asked, onChange } = props;
  const offset = Number(asked.offset) || 0;
  const query = { ...queryOf(asked), offset: String(offset), limit: String(pageSize) };
  const { areShown } = useContext(TextsOfSession);
  const state = useData(`${areShown} ${JSON.stringify(query)}`, (signal) => api.turnPage(query, signal));
  const groups = groupsOf(state.data);
  useTurnEnd(state.reload);
  return (
    <Section
      id="ended"
      title="Latest turns"
      aside={
        <div class="choices">
          <TextsSwitch />
          <ExportButtons asked={queryOf(asked)} />
        </div>
      }
    >
      <div class="filters">
        <Search value={asked.search} onChange={(search) => onChange({ search })} />
        <Pick
          label="Status"
          options={["finished", "failed", "cancelled"].map((value) => [value, value] as const)}
          value={asked.status}
          onChange={(status) => onChange({ status })}
        />
        {groups.map(({ by, options }) => {
          const isOne = by === "key" && options.length < 2; // there is none but the owner's
          if (isOne) return null;
          const label = `${by[0]?.toUpperCase()}${by.slice(1)}`;
          return (
            <Pick
              key={by}
              label={label}
              options={options}
              value={asked[by]}
              onChange={(to) => onChange({ [by]: to })}
            />
          );
        })}
      </div>
      <Loaded state={state} lines={5}>
        {(page) => {
          const total = page.totals?.turns ?? 0;
          return (
            <div class="card">
              {total === 0 ? (
                <p class="muted">No turn of this time matches.</p>
              ) : (
                <Rows page={page} asked={asked} onSort={onChange} />
              )}
              <Pager offset={offset} total={total} onChange={(to) => onChange({ offset: String(to) })} />
            </div>
          );
        }}
      </Loaded>
    </Section>
  );
}

/** What turns can be filtered by: every model, client or key that ever had one. */
function groupsOf(page: TurnPageEnvelope | undefined) {
  const { model = [], client = [], key = [] } = page?.groups ?? {};
  const same = (name: string) => [name, name] as const;
  return [
    { by: "model", options: model.map(({ key: uid, name }) => [uid, name] as const) },
    { by: "client", options: client.map(same) },
    { by: "key", options: key.map(same) },
  ] as const;
}

function Search({ value, onChange }: { readonly value: string; readonly onChange: (text: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  // What somebody types here is not written over.
  useEffect(() => {
    if (field.current !== null && document.activeElement !== field.current) field.current.value = value;
  }, [value]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      ref={field}
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
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const { label, value: chosen, onChange } = props;
  const options = props.options.filter(([value]) => value !== "");
  // An address may name what is not in the list, or not yet.
  const isListed = chosen === "" || options.some(([value]) => value === chosen);
  return (
    <select aria-label={label} value={chosen} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      <option value="">{`${label}: all`}</option>
      {[...options, ...(isListed ? [] : [[chosen, chosen] as const])].map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** The columns that say something of one of these turns, and the one that the list is sorted by. */
function filledColumns(turns: readonly TurnRowEnvelope[], sorted: string): ReadonlySet<string> {
  const isKnown: Partial<Record<(typeof columns)[number][0], (turn: TurnRowEnvelope) => boolean>> = {
    client: ({ client }) => client !== null,
    project: ({ project }) => project !== null,
    tokens_in: ({ tokens }) => tokens !== null,
    tokens_out: ({ tokens }) => tokens !== null,
    credits: (turn) => creditsOf(turn) !== undefined,
    first_token: ({ first_token_ms }) => first_token_ms !== null,
  };
  return new Set(
    columns.map(([name]) => name).filter((name) => name === sorted || turns.some(isKnown[name] ?? (() => true))),
  );
}

function Rows(props: {
  readonly page: TurnPageEnvelope;
  readonly asked: PageQuery;
  readonly onSort: (part: Partial<PageQuery>) => void;
}) {
  const { page, asked, onSort } = props;
  const { areShown } = useContext(TextsOfSession);
  const filled = filledColumns(page.data, asked.sort);
  const hasEstimates = filled.has("credits") && page.data.some((turn) => creditsOf(turn)?.isEstimated);
  return (
    <div class="scroll">
      <table class="turns">
        <caption class="hidden">Turns that ended</caption>
        <thead>
          <tr>
            {columns.map(([sort, title, look]) => {
              if (!filled.has(sort)) return null;
              if (sort === "question")
                return areShown ? (
                  <th key={sort} scope="col">
                    {title}
                  </th>
                ) : null;
              return (
                <SortHead
                  key={sort}
                  title={title}
                  look={`${look} of-${sort}`}
                  order={asked.sort === sort ? (asked.order as Order) : undefined} // the gateway refuses any other word
                  first="desc"
                  onSort={(order) => onSort({ sort, order })}
                />
              );
            })}
          </tr>
        </thead>
        <tbody>
          {page.data.map((turn) => (
            <TurnRow key={turn.id} turn={turn} areShown={areShown} filled={filled} />
          ))}
        </tbody>
      </table>
      {hasEstimates && <p class="note">~ credits are from the price list: the IDE reported none for these turns.</p>}
    </div>
  );
}

function TurnRow(props: {
  readonly turn: TurnRowEnvelope;
  readonly areShown: boolean;
  readonly filled: ReadonlySet<string>;
}) {
  const { turn, areShown, filled } = props;
  const credits = creditsOf(turn);
  const at = Date.parse(turn.created_at);
  const { tokens, status, reason, question } = turn;
  const mark = tokens?.estimated === true ? "~" : "";
  return (
    <tr class={status === "failed" && isMistake(reason) ? "mistaken" : status} data-row>
      <td class="of-time">
        <time dateTime={turn.created_at} title={exactInWords(at)}>
          {clockInWords(at)}
        </time>
      </td>
      <td class="of-status">
        <Outcome status={status} reason={reason} />
      </td>
      {areShown && (
        <td class="of-question" title={question ?? undefined}>
          {question == null ? <span class="muted">–</span> : <a href={`#/turns/${turn.id}`}>{question}</a>}
        </td>
      )}
      {filled.has("client") && <td class="of-client">{turn.client ?? "–"}</td>}
      {filled.has("project") && (
        <td class="wide" title={turn.project ?? undefined}>
          {folderOf(turn.project) ?? "–"}
        </td>
      )}
      <th scope="row" class="of-model">
        <a href={`#/turns/${turn.id}`} title={modelName(turn)}>
          {modelName(turn)}
        </a>
      </th>
      <td class="wide of-dialect">{turn.api}</td>
      {filled.has("tokens_in") && (
        <td class="number of-tokens_in">{tokens === null ? "–" : mark + count(tokens.in)}</td>
      )}
      {filled.has("tokens_out") && (
        <td class="number of-tokens_out">{tokens === null ? "–" : mark + count(tokens.out)}</td>
      )}
      {filled.has("credits") && (
        <td class="number of-credits">{credits === undefined ? "–" : creditsInWords(credits)}</td>
      )}
      {filled.has("first_token") && (
        <td class="number wide">{turn.first_token_ms === null ? "–" : spanInWords(turn.first_token_ms)}</td>
      )}
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
  if (total <= pageSize) return null;
  const last = Math.floor((total - 1) / pageSize) * pageSize;
  return (
    <nav class="pager" aria-label="Pages of turns">
      <button type="button" disabled={offset === 0} onClick={() => onChange(0)}>
        First
      </button>
      <button type="button" disabled={offset === 0} onClick={() => onChange(offset - pageSize)}>
        Previous
      </button>
      <span role="status">{`${count(offset + 1)}–${count(Math.min(total, offset + pageSize))} of ${count(total)}`}</span>
      <button type="button" disabled={offset >= last} onClick={() => onChange(offset + pageSize)}>
        Next
      </button>
      <button type="button" disabled={offset >= last} onClick={() => onChange(last)}>
        Last
      </button>
    </nav>
  );
}
