import { MillraceError } from "../../base/errors.ts";
import { ownTurn } from "../../base/node/unhurried.ts";
import type { TurnRecord } from "../../log/store.ts";
import { messageTexts } from "../dashboard/turn-summary.ts";
import { textOf } from "../dialects/answer.ts";
import type { GatewayContext, PageParts } from "../http/context.ts";
import { jsonResponse } from "../http/reply.ts";
import { foundTurnsSchema } from "./answer-schemas.ts";
import { defineOwnerRoute, limitIn } from "./route.ts";
import { answerNow } from "./stored-responses.ts";
import { describeTurn, readable, seesTexts } from "./turns-routes.ts";

const [mostSearched, mostFound, longestWord] = [10_000, 100, 200];
/** How much of the text around a hit is shown, in characters. */
const [before, behind] = [8, 60];

/** Stands before the routes of single turns. */
export const turnSearchRoute = defineOwnerRoute("page", "GET /dashboard/api/turns/search", {
  summary:
    "Turns whose question or answer contains a text, newest first. Only texts that the log still keeps and that no client sealed; in a session only where it shows texts.",
  query: { text: "what to look for; upper and lower case are the same", limit: `1 to ${mostFound}` },
  answer: foundTurnsSchema,
  async handle(parts, c) {
    const wanted = fold(c.query("text")?.trim().slice(0, longestWord) ?? "");
    if (!seesTexts(parts, c))
      throw new MillraceError("invalid_request", "This session does not show texts, so it cannot search them.", {
        hint: "Show texts in the settings of the page first.",
      });
    return jsonResponse(await search(parts, c, wanted, limitIn(c.search, 20, mostFound)));
  },
});

async function search(parts: PageParts, c: GatewayContext, wanted: string, limit: number) {
  const data: object[] = [];
  let [searched, sealed] = [0, 0];
  for (const turn of await parts.turns.list({ limit: mostSearched })) {
    c.signal.throwIfAborted();
    if (turn.sealed === true) sealed++;
    const record = wanted !== "" && data.length < limit ? await readable(parts, turn) : undefined;
    if (record === undefined) continue;
    searched++;
    const excerpt = excerptOf(newestQuestion(record), wanted) ?? excerptOf(await answerText(parts, c, record), wanted);
    if (excerpt !== undefined) data.push({ ...describeTurn(turn, parts), excerpt });
    await ownTurn(); // requests are large: other work goes on between two of them
  }
  return { object: "list", data, searched, sealed };
}

/** The newest message of the user: those before it were searched with the turns that they began. */
function newestQuestion({ request }: TurnRecord): string {
  return messageTexts(request).findLast(({ role }) => role === "user")?.text ?? "";
}

async function answerText(parts: PageParts, c: GatewayContext, record: TurnRecord): Promise<string> {
  return textOf((await answerNow(parts, c, record)).blocks);
}

/** The line around the first hit; undefined where there is none. */
function excerptOf(text: string, wanted: string): string | undefined {
  const at = fold(text).indexOf(wanted);
  if (at < 0) return undefined;
  const [from, to] = [Math.max(0, at - before), at + wanted.length + behind];
  const part = text.slice(from, to).replace(/\s+/g, " ").trim().toWellFormed();
  return `${from > 0 ? "…" : ""}${part}${to < text.length ? "…" : ""}`;
}

/** Letters of one case. By letter, so that places stay where they are. */
function fold(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length
    ? lower
    : Array.from(text, (c) => (c.toLowerCase().length === c.length ? c.toLowerCase() : c)).join("");
}
