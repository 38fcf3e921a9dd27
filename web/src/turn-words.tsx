import type { LiveTurn } from "./api.ts";
import { count, endInWords, isMistake, type TurnEnd, timerInWords } from "./words.ts";

/** That a turn goes on although its client left, and how long; nothing while it has one. */
export function WithoutClient(props: { readonly turn: Pick<LiveTurn, "without_client">; readonly now: number }) {
  const without = props.turn.without_client;
  if (without === null) return null;
  const left = without.until === null ? "to its end" : `${timerInWords(Date.parse(without.until) - props.now)} left`;
  return <span class="badge alone">{`continues without its client, ${left}`}</span>;
}

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

/** Counted tokens where there are some; before that a guess from the length, marked as one. Never a zero that is not known. */
export function tokensInWords({ tokens, characters, status }: LiveTurn): string {
  if (tokens !== null) {
    const mark = tokens.estimated ? "~" : "";
    return `${mark}${count(tokens.prompt)} in, ${mark}${count(tokens.completion + tokens.thinking)} out`;
  }
  if (characters === 0 && status === "running") return "none yet";
  return characters === null || characters === 0 ? "tokens unknown" : `~${count(Math.ceil(characters / 4))} tokens`;
}
