import type { LiveTurn } from "./api.ts";
import { useGone } from "./gateway-link.ts";
import type { LiveTurns } from "./live-turns.ts";
import { CopyLine } from "./parts.tsx";
import { Cancel } from "./turn-actions.tsx";
import { ageInWords, count, endInWords, folderOf, isMistake, modelName, type TurnEnd, timerInWords } from "./words.ts";

/** The turns that run now, each with its age, what it has said so far, whether its client is there, and a way to end it. */
export function RunningTurns({ turns, now }: { readonly turns: readonly LiveTurn[]; readonly now: number }) {
  if (turns.length === 0) return <p class="card muted">No turn runs now.</p>;
  return (
    <>
      {turns.some(({ degraded }) => degraded) && (
        <p class="card" role="status">
          Turns marked “in memory” do not survive a restart of the gateway.
        </p>
      )}
      <ul class="card rows running">
        {turns.map((turn) => (
          <RunningTurn key={turn.id} turn={turn} now={now} />
        ))}
      </ul>
    </>
  );
}

/** That a turn goes on although its client left, and how long; nothing while it has one. */
export function WithoutClient({
  turn,
  now,
}: {
  readonly turn: Pick<LiveTurn, "without_client">;
  readonly now: number;
}) {
  const without = turn.without_client;
  if (without === null) return null;
  const left = without.until === null ? "to its end" : `${timerInWords(Date.parse(without.until) - now)} left`;
  return <span class="badge alone">{`continues without its client, ${left}`}</span>;
}

export function Connection({ state }: { readonly state: LiveTurns["connection"] }) {
  const texts = { connecting: "connecting", live: "live", lost: "connection lost, trying again" } as const;
  return (
    <span class={`state ${state}`} role="status">
      {texts[state]}
    </span>
  );
}

function RunningTurn({ turn, now }: { readonly turn: LiveTurn; readonly now: number }) {
  const gone = useGone();
  return (
    <li data-turn={turn.id}>
      <div class="what">
        <a href={`#/turns/${turn.id}`}>{modelName(turn)}</a>
        <span class="muted">{from(turn)}</span>
      </div>
      <span class="figures">
        <span class={`phase ${gone === undefined ? turn.phase : "gone"}`}>{gone ?? phases[turn.phase]}</span>
        <span>{ageInWords(now - Date.parse(turn.created_at))}</span>
        <span>{turn.characters === 0 ? "" : tokensInWords(turn)}</span>
        <WithoutClient turn={turn} now={now} />
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

/** What to type first: an agent behind the gateway, a question, and the address for everything else. */
export function FirstRun() {
  return (
    <div class="card empty">
      <h3>No turns yet</h3>
      <p>Start the agent that you use. Its answers then come from your plan, and each one is shown here:</p>
      <CopyLine label="the command for Codex" text="millrace run codex" />
      <CopyLine label="the command for Claude Code" text="millrace run claude" />
      <CopyLine label="the command for OpenCode" text="millrace run opencode" />
      <p>Or ask something in a terminal:</p>
      <CopyLine label="the command of a question" text={'millrace chat "What is a millrace?"'} />
      <p>
        Any other tool takes this address as its OpenAI or Anthropic API. <code>millrace keys --value</code> prints the
        key.
      </p>
      <CopyLine label="the address" text={`${location.origin}/v1`} />
    </div>
  );
}
