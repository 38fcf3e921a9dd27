import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { userName } from "../../base/node/user.ts";
import type { DiscoveryResult } from "../../ide/ide.ts";
import { type CommandContext, defineCommand, type OptionValues } from "../command.ts";
import { withFinder } from "../compose/compose-ide.ts";
import { parseServeTable, readConfig } from "../config/read-config.ts";
import { countOf, printContract, runContract, withoutSecrets } from "../doctor/contract/run-contract.ts";
import { showConversations } from "../doctor/conversations.ts";
import { type KnownNames, redactedJson, redactor } from "../doctor/redact.ts";
import { examine, render } from "../doctor/report.ts";
import { readKey } from "../gateway-process/key-file.ts";
import { duration, flag, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { ownGatewayOptions } from "../serve/gateway-options.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { exitCodeOfFindings, type Finding, finding } from "../terminal/finding.ts";
import { jsonText } from "../terminal/foreign-text.ts";
import { serveCommand } from "./serve.ts";

const options = {
  contract: flag("compare the IDE on this machine with what Millrace expects of it"),
  conversations: flag(
    "count the conversations that Millrace made in the IDE, and their size on disk; --json lists them",
  ),
  deleteOlder: duration("with --conversations: delete those that did not change for this time", undefined),
  report: text("write the report to this file, without keys, names and addresses", "<file.json>"),
  json: flag("print JSON"),
  ...ownGatewayOptions,
} as const;
type Options = OptionValues<typeof options>;

export const doctorCommand = defineCommand({
  ...outlines.doctor,
  description:
    "Checks the running IDEs, the gateway, its key, its store and the disk space of conversations. It changes nothing and costs nothing; only --delete-older deletes. Exits with 0 if all is well, with 1 if there are warnings, else with the code of the worst problem.",
  options,
  examples: [
    ["millrace doctor", "one screen"],
    ["millrace doctor --report doctor.json", "to attach to a bug report"],
    ["millrace doctor --contract --report contract.json", "to attach to an issue: what differs from the documentation"],
    ["millrace doctor --conversations --json", "each conversation that Millrace began in the IDE"],
    ["millrace doctor --conversations --delete-older 7d", "delete what did not change for a week"],
  ],
  async run({ options, typed }, context) {
    const { io, out } = context;
    checkTogether(typed);
    if (options.conversations) return showConversations(options, options.deleteOlder, context);
    if (options.report !== undefined && existsSync(options.report))
      throw cannotWrite(options.report, "it is there already"); // before anything is asked
    if (options.contract) return contract(options, context);
    const { report, found } = await examine(options, context, checkConfig(context.settings.configFile));
    const settings = Object.entries(io.env).filter(([name]) => name.startsWith("MILLRACE_"));
    const whole = { ...report, settings: Object.fromEntries(settings) };
    if (options.report !== undefined)
      await writeReport(options.report, redactedJson(whole, redactor(await knownOf(found, context))));
    if (options.json) out.json(report);
    else for (const line of render(report, (style, text) => out.style(style, text), widthOf(out))) out.line(line);
    if (options.report !== undefined) out.note(written(options.report));
    io.signal.throwIfAborted();
    return exitCodeOfFindings(report.data);
  },
});

/** Throws `invalid_request` for options that have no meaning together. */
function checkTogether(typed: ReadonlySet<string>): void {
  if (typed.has("deleteOlder") && !typed.has("conversations"))
    throw new MillraceError("invalid_request", "--delete-older works only with --conversations.", {
      hint: "Use `millrace doctor --conversations --delete-older 7d`.",
    });
  if (typed.has("contract") && typed.has("conversations"))
    throw new MillraceError("invalid_request", "--contract and --conversations do not work together.", {
      hint: "Leave one of them out.",
    });
}

const written = (path: string) => `Written to ${path}. Look through it before you send it.`;

/** A pipe searches whole lines. */
function widthOf({ isTerminal, columns }: CommandContext["out"]): number {
  return isTerminal ? columns : Number.POSITIVE_INFINITY;
}

/** What is wrong with the configuration file: a gateway would not start with it. */
function checkConfig(file: string): readonly Finding[] {
  try {
    parseServeTable(readConfig(file), serveCommand.options, file);
    return [];
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const todo = `${error.hint} A gateway that runs is not concerned, but does not start again until the file is right.`;
    return [finding("gateway", "warning", error.message.replace(/\.$/, ""), todo)];
  }
}

/** Exits 0 where nothing differs, 1 where something does, 69 where nothing could be looked at. */
async function contract(options: Options, context: CommandContext): Promise<number> {
  const { io, out, signal } = context;
  const [seen, known] = await withFinder(io, options, async (finder) => {
    const { report, personal } = await runContract(options, finder, context);
    const { secrets, ...names } = await knownOf(await finder.find(signal), context);
    return [report, { ...names, secrets: [...secrets, ...personal] }] as const;
  });
  const report = withoutSecrets(seen, redactor(known));
  if (options.report !== undefined) await writeReport(options.report, jsonText(report, 2));
  if (options.json) out.json(report);
  else printContract(report, out);
  if (options.report !== undefined) out.note(written(options.report));
  if (report.data.length === 0) return exitCodes.unavailable;
  return countOf("differs", report) > 0 ? exitCodes.negative : exitCodes.ok;
}

/** The values that must not be in an archive, in any file. */
async function knownOf(
  { ides, agents }: DiscoveryResult,
  { io, settings, signal }: CommandContext,
): Promise<KnownNames> {
  const secrets = ides.flatMap(({ endpoint, identity }) => [endpoint.csrfToken.reveal(), identity.apiKey.reveal()]);
  for (const agent of agents) {
    const key = await agent.readApiKey(signal);
    if (key !== undefined) secrets.push(key.reveal());
  }
  try {
    const key = readKey(settings.keyFile);
    if (key !== undefined) secrets.push(key.reveal());
  } catch {
    // a key file that cannot be used is a finding already; its key is not known
  }
  return { secrets, home: io.homeFolder, user: userName(), hostName: hostname() };
}

/** Writes a report that is clean already (0600); a file that is there is not replaced. Throws `invalid_request`. */
async function writeReport(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, `${text}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // writing a file fails with nothing else
    if (code === undefined) throw error;
    throw cannotWrite(path, code === "EEXIST" ? "it is there already" : code, error);
  }
}

function cannotWrite(path: string, why: string, cause?: unknown): MillraceError {
  return new MillraceError("invalid_request", `The report ${path} cannot be written: ${why}.`, {
    hint: "Name another file.",
    cause,
  });
}
