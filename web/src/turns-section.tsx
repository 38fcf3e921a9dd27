import type { LiveTurn } from "./api.ts";
import type { LiveTurns } from "./live-turns.ts";
import { CopyLine, Section } from "./parts.tsx";
import { Cancel } from "./turn-actions.tsx";
import { useNow } from "./use-data.ts";
import { ageInWords, count, endInWords, folderOf, isMistake, modelName, type TurnEnd } from "./words.ts";

/** The turns that run now, each with its age, what it has said so far, and a way to end it. */
export function RunningTurns(props: {
  readonly turns: readonly LiveTurn[];
  readonly connection: LiveTurns["connection"];
  readonly isFirstRun: boolean;
}) {
  const now = useNow(1000);
  return (
    <Section id="running" title="Running turns" aside={<Connection state={props.connection} />}>
      {props.isFirstRun && <FirstRun />}
      {!props.isFirstRun && props.turns.length === 0 && <p class="card muted">No turn runs now.</p>}
      {props.turns.some(({ degraded }) => degraded) && (
        <p class="card" role="status">
          Turns marked “in memory” do not survive a restart of the gateway.
        </p>
      )}
      {props.turns.length > 0 && (
        <ul class="card rows running">
          {props.turns.map((turn) => (
            <RunningTurn key={turn.id} turn={turn} now={now} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function Connection({ state }: { readonly state: LiveTurns["connection"] }) {
  const texts = { connecting: "connecting", live: "live", lost: "connection lost, trying again" } as const;
  return (
    <span class={`state ${state}`} role="status">
      {texts[state]}
    </span>
  );
}

function RunningTurn({ turn, now }: { readonly turn: LiveTurn; readonly now: number }) {
  return (
    <li data-turn={turn.id}>
      <div class="what">
        <a href={`#/turns/${turn.id}`}>{modelName(turn)}</a>
        <span class="muted">{from(turn)}</span>
      </div>
      <span class="figures">
        <span class={`phase ${turn.phase}`}>{phases[turn.phase]}</span>
        <span>{ageInWords(now - Date.parse(turn.created_at))}</span>
        <span>{turn.characters === 0 ? "" : tokensInWords(turn)}</span>
        {turn.degraded && <span class="badge bad">in memory</span>}
        <Sealed turn={turn} />
      </span>
      <Cancel id={turn.id} name={modelName(turn)} />
      {turn.tail !== undefined && turn.tail !== "" && <p class="tail">{turn.tail}</p>}
    </li>
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

/** Marks a turn whose texts only its client can read. */
export function Sealed({ turn }: { readonly turn: LiveTurn }) {
  return turn.sealed ? <span class="badge plain">encrypted by its client</span> : null;
}

/** How a turn ended. Red is for what is broken, not for a request that its author corrects. */
export function Outcome({ status, reason }: { readonly status: TurnEnd | null; readonly reason: string | null }) {
  if (status === null) return <span class="badge">running</span>;
  const tone = { finished: "good", failed: isMistake(reason) ? "warn" : "bad", cancelled: "plain" }[status];
  return <span class={`badge ${tone}`}>{endInWords(status, reason)}</span>;
}

function from(turn: LiveTurn): string {
  const folder = folderOf(turn.project);
  return [turn.client?.split("/")[0] ?? turn.dialect, folder].filter((part) => part !== undefined).join(" · ");
}

/** Counted tokens where there are some; before that a guess from the length, marked as one. Never a zero that is not known. */
export function tokensInWords({ tokens, characters, status }: LiveTurn): string {
  if (tokens !== null) {
    const mark = tokens.estimated ? "~" : "";
    return `${mark}${count(tokens.prompt)} in, ${mark}${count(tokens.completion + tokens.thinking)} out`;
  }
  if (characters === 0 && status === "running") return "none yet";
  return characters === null || characters === 0 ? "tokens unknown" : `~${count(Math.ceil(characters / 4))} tokens`;
}

function FirstRun() {
  return (
    <div class="card empty">
      <h3>No turns yet</h3>
      <p>Enter this address in any tool that uses the OpenAI or Anthropic API:</p>
      <CopyLine label="the address" text={`${location.origin}/v1`} />
      <p>
        <code>millrace keys --value</code> prints the key. Or try it in a terminal:
      </p>
      <CopyLine label="the command" text={'millrace chat "What is a millrace?"'} />
    </div>
  );
}
