import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { hostname, userInfo } from "node:os";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import type { DiscoveryResult } from "../../ide/ide.ts";
import { defaultOf } from "../clients/target.ts";
import { type CommandContext, defineCommand, type OptionValues } from "../command.ts";
import { withFinder } from "../compose/compose-ide.ts";
import { type Upstream } from "../compose/compose-upstream.ts";
import { renderContract, verdictsOf, withoutSecrets } from "../doctor/contract/report.ts";
import { runContract } from "../doctor/contract/run-contract.ts";
import { exitCodeOfFindings, type Finding, finding } from "../doctor/finding.ts";
import { type KnownNames, redactedJson, redactor } from "../doctor/redact.ts";
import { examine, render } from "../doctor/report.ts";
import { ask, spell } from "../gateway-process/gateway-client.ts";
import { readKey } from "../gateway-process/key-file.ts";
import { withGateway } from "../gateway-process/use-gateway.ts";
import { flag, modelOption, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { ownGatewayOptions } from "../serve/gateway-options.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { jsonText } from "../terminal/foreign-text.ts";

const options = {
  send: flag("ask a model one short question; this uses some of your plan"),
  contract: flag("compare the IDE on this machine with what Millrace expects of it"),
  spend: flag("with --contract: send a few small prompts; this uses some of your plan"),
  report: text("write the report to this file, without keys, names and addresses", "<file.json>"),
  model: modelOption("with --send or --spend: model to ask"),
  json: flag("print JSON"),
  ...ownGatewayOptions,
} as const;
type Options = OptionValues<typeof options>;

export const doctorCommand = defineCommand({
  ...outlines.doctor,
  description:
    "Checks the running IDEs, the gateway, its key, its store and the disk space of conversations. It changes nothing and costs nothing; only --send and --spend ask a model. Exits with 0 if all is well, with 1 if there are warnings, else with the code of the worst problem.",
  options,
  examples: [
    ["millrace doctor", "one screen"],
    ["millrace doctor --report doctor.json", "to attach to a bug report"],
    ["millrace doctor --send", "test the whole way to a model"],
    ["millrace doctor --contract --report contract.json", "to attach to an issue: what differs from the documentation"],
  ],
  async run({ options }, context) {
    const { io, out } = context;
    if (options.report !== undefined && existsSync(options.report))
      throw cannotWrite(options.report, "it is there already"); // before anything is asked
    if (options.contract) return contract(options, context);
    if (options.spend) {
      throw new MillraceError("invalid_request", "--spend works only with --contract.", {
        hint: "Use `millrace doctor --contract --spend`.",
      });
    }
    const { report, found } = await examine(options, context, async (upstream) =>
      options.send ? [await send(options, upstream, context)] : [],
    );
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

const written = (path: string) => `Written to ${path}. Look through it before you send it.`;

/** A pipe searches whole lines. */
function widthOf({ isTerminal, columns }: CommandContext["out"]): number {
  return isTerminal ? columns : Number.POSITIVE_INFINITY;
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
  else for (const line of renderContract(report, (style, text) => out.style(style, text), widthOf(out))) out.line(line);
  if (options.report !== undefined) out.note(written(options.report));
  if (report.data.length === 0) return exitCodes.unavailable;
  return verdictsOf(report).some(({ verdict }) => verdict === "differs") ? exitCodes.negative : exitCodes.ok;
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
  return { secrets, home: io.homeFolder, user: userInfo().username, hostName: hostname() };
}

/**
 * Asks the model asked for, else the account's default, one short question end to end. The only thing the doctor does that costs: done
 * when asked for, once.
 */
async function send(options: Options, { models }: Upstream, context: CommandContext): Promise<Finding> {
  const { io, signal } = context;
  const startedAt = io.clock.monotonic();
  try {
    const model = options.model ?? defaultOf(await models.list({ refresh: true }, signal)).id;
    return await withGateway(options, context, async (gateway) => {
      let answer = "";
      for await (const piece of ask(gateway, { text: "Answer with the one word: ready", model }, signal)) {
        if (piece.type === "text") answer += piece.delta;
      }
      const took = spell(io.clock.monotonic() - startedAt);
      return answer === ""
        ? finding("answer", "error", `${model} gave an empty answer after ${took}`, "Try another model with --model.")
        : finding("answer", "ok", `${model} answered in ${took}`);
    });
  } catch (error) {
    if (signal.aborted || !isMillraceError(error)) throw error;
    return finding("answer", "error", `A question was not answered: ${error.message}`, error.hint);
  }
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
