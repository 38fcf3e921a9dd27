// One message of a session through an SDK: the history lies in a file, as a program keeps its user's chats. Ctrl-C stops the answer.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { picture } from "./scenario.mjs";

const { HISTORY, PROMPT, STEP } = process.env;

export { STEP };
export const text = PROMPT;
/** The picture of this message, in base64; undefined without one. */
export const withPicture = STEP === "picture" ? picture() : undefined;
export const isJson = STEP === "JSON";
export const isFirst = !existsSync(HISTORY);
/** Messages in the SDK's own form, or what else it needs to go on. */
export const history = isFirst ? [] : JSON.parse(readFileSync(HISTORY, "utf8"));
const before = [...history];
const stop = new AbortController();
process.on("SIGINT", () => stop.abort());
export const { signal } = stop;

/** Prints the answer, or the error. A history keeps a message that its user stopped; after an error the same one is sent again. */
export async function turn(answer) {
  try {
    process.stdout.write(`${await answer()}\n`);
  } catch (error) {
    if (!signal.aborted) history.splice(0, Number.POSITIVE_INFINITY, ...before);
    process.stdout.write(`${error?.name}: ${error?.message} ${error?.responseBody ?? ""}\n`);
    process.exitCode = 1;
  }
  writeFileSync(HISTORY, JSON.stringify(history));
  process.exit();
}
