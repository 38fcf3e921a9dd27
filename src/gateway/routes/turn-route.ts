import { answerTurn } from "../answers/answer-turn.ts";
import type { Dialect } from "../dialects/dialect.ts";
import type { Route } from "./route.ts";

/** The handler of a dialect: turn started or joined, answer out, streamed or whole. */
export function turnRoute(dialect: Dialect): Route["handle"] {
  return (gateway, c, { json }) => answerTurn(gateway, c, dialect, json);
}
