import { useContext } from "preact/hooks";
import type { LiveTurn } from "./api.ts";
import { useGone } from "./gateway-link.ts";
import { Section } from "./parts.tsx";
import { PricesOfModels } from "./prices.ts";
import { Cancel } from "./turn-actions.tsx";
import { Sealed, tokensInWords, WithoutClient } from "./turn-words.tsx";
import { useTurnClock } from "./use-data.ts";
import { ageInWords, count, folderOf, modelName } from "./words.ts";

const columns = [
  ["state", "State", ""],
  ["model", "Model", ""],
  ["about", "Question or project", ""],
  ["client", "Client", ""],
  ["age", "Age", "number"],
  ["tokens", "Tokens", "number"],
] as const;

/** The turns that run, in columns that stand still. Nothing while none does. */
export function Running({ turns }: { readonly turns: readonly LiveTurn[] }) {
  if (turns.length === 0) return null;
  return (
    <Section id="running" title={`Running now: ${count(turns.length)}`} aside={<Cost turns={turns} />}>
      {turns.some(({ degraded }) => degraded) && (
        <p role="status">Turns marked “in memory” do not survive a restart of the gateway.</p>
      )}
      <div class="card scroll">
        <table class="running">
          <caption class="hidden">Turns that run</caption>
          <thead>
            <tr>
              {columns.map(([name, title, look]) => (
                <th key={name} scope="col" class={`of-${name} ${look}`}>
                  {title}
                </th>
              ))}
              <th scope="col" class="of-cancel">
                <span class="hidden">Cancel</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {turns.map((turn) => (
              <RunningTurn key={turn.id} turn={turn} />
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

/** What the running turns cost by the price list. */
function Cost({ turns }: { readonly turns: readonly LiveTurn[] }) {
  const prices = useContext(PricesOfModels);
  const known = turns.flatMap(({ model_uid }) => prices.get(model_uid) ?? []);
  if (known.length === 0) return null;
  const cost = known.reduce((sum, price) => sum + price, 0);
  return (
    <span class="small muted">
      {`These turns cost ${known.length < turns.length ? "at least " : "about "}${count(cost)} ${cost === 1 ? "credit" : "credits"} by the price list.`}
    </span>
  );
}

/** What a turn does now. */
const phases = {
  waiting: "waiting for the IDE",
  opened: "waiting for the model",
  thinking: "thinking",
  text: "writing",
  tool_call: "calling a tool",
  ended: "ended",
} as const satisfies Record<LiveTurn["phase"], string>;

function RunningTurn({ turn }: { readonly turn: LiveTurn }) {
  const now = useTurnClock();
  const gone = useGone();
  const about = turn.question ?? folderOf(turn.project) ?? "–";
  return (
    <tr data-turn={turn.id} data-row>
      <td class="of-state">
        <span class={`state ${gone === undefined ? turn.phase : "gone"}`}>{gone ?? phases[turn.phase]}</span>
      </td>
      <th scope="row" class="of-model">
        <a href={`#/turns/${turn.id}`} title={modelName(turn)}>
          {modelName(turn)}
        </a>
      </th>
      <td class="of-about">
        <span class="cut" title={about}>
          {about}
        </span>
        <span class="marks">
          <WithoutClient turn={turn} now={now} />
          {turn.degraded && <span class="badge bad">in memory</span>}
          <Sealed turn={turn} />
        </span>
        {turn.tail !== undefined && (
          <span class="cut small muted tail">
            <bdi>{turn.tail.replaceAll("\n", " ")}</bdi>
          </span>
        )}
      </td>
      <td class="of-client">{turn.client?.split("/")[0] ?? turn.dialect}</td>
      <td class="number of-age">{ageInWords(now - Date.parse(turn.created_at))}</td>
      <td class="number of-tokens">{turn.characters === 0 ? "" : tokensInWords(turn)}</td>
      <td class="of-cancel">
        <Cancel id={turn.id} name={modelName(turn)} />
      </td>
    </tr>
  );
}
