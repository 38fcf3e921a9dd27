import { setUpClients } from "./clients/installed.ts";
import { readStatus, statusLines } from "./commands/status.ts";
import { readSettings } from "./settings.ts";
import { askLine } from "./terminal/ask-yes.ts";
import { exitCodes } from "./terminal/exit-codes.ts";
import { type Io, openOutput } from "./terminal/output.ts";

/** `millrace` on a terminal: what runs, what is left, and what can be done next. `run` runs the chosen command. */
export async function showMenu(io: Io, run: (words: readonly string[]) => Promise<number>): Promise<number> {
  const out = openOutput(io.stdout, io.stderr, io.env);
  const settings = readSettings(io);
  const context = { io, out, settings, signal: io.signal, json: false };
  const status = await readStatus({}, context);
  for (const line of statusLines(status, context)) out.prose(line);
  out.line();
  const isNew = setUpClients(settings.folder).length === 0;
  const choices: readonly (readonly [words: readonly string[], what: string])[] = [
    ...(isNew ? [[["init"], "set everything up, step by step"] as const] : []),
    [["chat"], "ask a question"],
    [["setup"], "use the models in a client"],
    [["usage"], "what is left of the plan, and how long it lasts"],
    ...(status.gateway === undefined ? [[["serve", "--background"], "start the gateway"] as const] : []),
    ...(status.gateway === undefined ? [] : [[["dashboard"], "open the dashboard"] as const]),
    [["doctor"], "check this machine"],
  ];
  for (const [at, [words, what]] of choices.entries())
    out.row(`  ${at + 1}  ${`millrace ${words.join(" ")}`.padEnd(28)}${what}`);
  out.note("`millrace help` lists more.");
  const answer = await askLine("A number, or Enter to leave:", io);
  const chosen = choices[Number(answer) - 1];
  if (chosen !== undefined) return run(chosen[0]);
  if (answer !== "") out.note("Nothing was done.");
  return exitCodes.ok;
}
