// What the drivers share: the surroundings of a scenario, and its run. A driver prints the answer, or the error, and nothing else.
import { readFileSync } from "node:fs";

const { SCHEMA, IMAGE } = process.env;
export const { BASE_URL, API_KEY, MODEL, PROMPT, SURFACE } = process.env;
export const schema = JSON.parse(SCHEMA);
/** The client repeats a request as often as it does by itself. */
export const isFailure = process.argv[2] === "failure";
/** What every driver's tool `bash` answers. */
export const ran = ({ command }) => `ran ${command}`;
export const commandSchema = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
export const picture = () => readFileSync(IMAGE).toString("base64");
export const pictureUrl = () => `data:image/png;base64,${picture()}`;

/** The text of a stream's pieces. */
export async function joined(pieces, textOf = (piece) => piece) {
  let text = "";
  for await (const piece of pieces) text += textOf(piece) ?? "";
  return text;
}

/** Aborts once a piece of the stream has text. */
export async function stopped(open, textOf = (piece) => piece) {
  const stop = new AbortController();
  for await (const piece of await open(stop)) if (textOf(piece)) break;
  stop.abort();
  return "cancelled";
}

/** Runs the scenario that this process is started for. `error` and `failure` are the plain one, where nothing else is given. */
export async function drive({ plain, ...scenarios }, tell = (error) => `${error?.name}: ${error?.message}`) {
  const all = { plain, error: plain, failure: plain, ...scenarios };
  const name = process.argv[2];
  try {
    process.stdout.write(`${await all[name]()}\n`);
  } catch (error) {
    process.stdout.write(`${tell(error)}\n`);
    process.exitCode = ["error", "failure"].includes(name) ? 0 : 1;
  }
}
