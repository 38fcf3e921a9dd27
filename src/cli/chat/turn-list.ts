import { oneLine, shortened } from "../../base/shown-text.ts";
import { foundTurnsSchema } from "../../gateway/routes/answer-schemas.ts";
import type { CommandContext } from "../command.ts";
import { askGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { spellAge, spellCount } from "../terminal/spell.ts";
import { type Column, printTable } from "../terminal/table.ts";
import { endedTurns, keepLonger, mostTurns, newestTurns, spellKept, type Turn } from "./pick-turn.ts";

/** Longest part of a question that a list shows, in characters. */
const shownLength = 60;

/** A turn of a list, also one whose texts have expired. */
export interface ListedTurn extends Pick<Turn, "id" | "created_at" | "status" | "model" | "client"> {
  readonly sealed?: boolean | undefined;
  readonly expired?: true;
  /** The question in one line; with `tail --search`, the text around the hit. */
  readonly question?: string | null | undefined;
}

/** The newest turns, newest first: those that run, those that are kept, and those of the usage history whose texts have expired. */
export async function listTurns(gateway: GatewayClient, signal: AbortSignal): Promise<readonly ListedTurn[]> {
  const [kept, { data: ended }] = await Promise.all([
    newestTurns(gateway, mostTurns, signal, "&questions=1"),
    endedTurns(gateway, {}, signal),
  ]);
  const ids = new Set(kept.map(({ id }) => id));
  const expired = ended
    .filter(({ id }) => !ids.has(id))
    .map(({ id, created_at, status, model_name: model, client }) => ({
      id,
      created_at,
      status,
      model,
      client,
      expired: true as const,
    }));
  return [...kept, ...expired].toSorted((a, b) => b.created_at.localeCompare(a.created_at)).slice(0, mostTurns);
}

/** The turns whose question or answer contains a text, newest first, and how many could not be searched. */
export async function findTurns(text: string, gateway: GatewayClient, signal: AbortSignal) {
  const query = new URLSearchParams({ text, limit: String(mostTurns) });
  const [found, kept, ended] = await Promise.all([
    askGateway(gateway, `/dashboard/api/turns/search?${query.toString()}`, foundTurnsSchema, { signal }),
    newestTurns(gateway, 1000, signal),
    endedTurns(gateway, { limit: "1000", totals: "1" }, signal),
  ]);
  const ids = new Set(kept.map(({ id }) => id));
  return {
    turns: found.data.map(({ excerpt, ...turn }): ListedTurn => ({ ...turn, question: excerpt })),
    searched: found.searched,
    sealed: found.sealed,
    expired: (ended.totals?.turns ?? 0) - ended.data.filter(({ id }) => ids.has(id)).length,
  };
}

/** What a search did, and what it could not look at. */
export function spellSearched(
  { searched, sealed, expired }: Omit<Awaited<ReturnType<typeof findTurns>>, "turns">,
  { settings }: Pick<CommandContext, "settings">,
): string {
  const not = [
    ...(sealed === 0 ? [] : [`${spellCount(sealed, "turn")} that only their clients can read`]),
    ...(expired === 0 ? [] : [`${spellCount(expired, "turn")} whose texts are deleted (${spellKept(settings)})`]),
  ];
  const rest = not.length === 0 ? "" : ` Not searched: ${not.join(", and ")}.`;
  return `Searched ${spellCount(searched, "turn")}.${rest}${expired === 0 ? "" : ` ${keepLonger}`}`;
}

const columns: readonly Column[] = [
  { title: "TURN", whole: true },
  { title: "AGE", align: "right", whole: true },
  { title: "STATUS", whole: true },
  { title: "CLIENT", narrow: 11, drop: 2 },
  { title: "MODEL", narrow: 16, drop: 3 },
  { title: "QUESTION", narrow: 16, drop: 1 },
];

/** A row for each turn: the end of its id, which `tail` takes, its age, status, client and model, and its question. */
export function showTurns(turns: readonly ListedTurn[], wide: boolean, { out, io, settings }: CommandContext): void {
  const rows = turns.map(({ id, created_at: at, status, client, model, ...turn }) => {
    const isClosed = turn.sealed === true && turn.question == null;
    const question =
      turn.expired === true
        ? "(deleted)"
        : isClosed
          ? "(encrypted)"
          : shortened(oneLine(turn.question ?? ""), shownLength);
    const age = spellAge(io.clock.now() - Date.parse(at));
    return [
      wide ? id : id.slice(-8),
      wide ? age : age.replace(/ [^ ]+ (?:h|min)$/, ""),
      status,
      (wide ? client : client?.split("/", 1)[0]) ?? "",
      model,
      question,
    ];
  });
  printTable(columns, rows, out, wide);
  if (turns.some(({ expired }) => expired))
    out.note(`The texts of some are deleted: ${spellKept(settings)}. ${keepLonger}`);
}
