import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { GatewayProcess } from "../support/gateway-process.ts";
import type { AskReport, Cell, Question } from "./apis.ts";

/** How often a client sends the same bytes again, at once. */
const repeats = 5;

/** One cell of a row while it is asked. */
export interface Asked {
  readonly cell: Cell;
  readonly question: Question;
  /** No other question has it. */
  readonly mark: string;
}

/** One question for each cell; `text` is given a mark by which its prompts are counted. The nth cell asks the nth model. */
export function askOf(cells: readonly Cell[], models: readonly string[], text: string): readonly Asked[] {
  return cells.map((cell, at) => {
    const mark = randomUUID();
    const model = models[at % models.length] ?? "";
    const key = cell.keyed ? { key: randomUUID() } : {};
    return { cell, mark, question: { model, text: `${text} ${mark}`, ...key } };
  });
}

/** A client that sends the same bytes as often as it is told of a failure; what it was told each time. */
export async function repeatedly(served: GatewayProcess, { cell, question }: Asked): Promise<readonly AskReport[]> {
  const told: AskReport[] = [];
  while (told.length <= repeats && told.at(-1)?.failed !== false) told.push(await cell.ask(served, question));
  return told;
}

/** Each is a failure that says what happened. Nobody here cancels anything. */
export function expectFailures({ cell }: Asked, told: readonly AskReport[], words: RegExp): void {
  for (const { failed, text, status = 0 } of told) {
    expect([cell.how, failed]).toEqual([cell.how, true]);
    expect(text).toMatch(words);
    expect(text).not.toMatch(/"code":"cancelled"|"outcome":"cancelled"/);
    expect(status).not.toBe(499);
  }
}

/** From the second time on no failure has a status that clients repeat by themselves. */
export function expectFinal({ cell }: Asked, told: readonly AskReport[]): void {
  const repeated = told.slice(1).flatMap(({ status = 0 }) => (status === 429 || status >= 500 ? status : []));
  expect([cell.how, repeated]).toEqual([cell.how, []]);
}

const oneOrTwo: unknown = expect.toSatisfy((count: unknown) => count === 1 || count === 2);

/** How many prompts each cell cost. */
export function promptsOf(asked: readonly Asked[], prompts: readonly string[]) {
  return asked.map(({ cell, mark }) => ({
    how: cell.how,
    prompts: prompts.filter((text) => text.includes(mark)).length,
  }));
}

/** One prompt where the cell is known to the gateway, and one more at most where it is not. */
export function expectedPrompts(asked: readonly Asked[], isKnown: (cell: Cell) => boolean) {
  return asked.map(({ cell }) => ({ how: cell.how, prompts: isKnown(cell) ? 1 : oneOrTwo }));
}

/** Each cell cost one prompt, and one more at most where no key was given. */
export function expectPrompts(asked: readonly Asked[], prompts: readonly string[]): void {
  expect(promptsOf(asked, prompts)).toEqual(expectedPrompts(asked, ({ keyed }) => keyed));
}
