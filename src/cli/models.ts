import type { Model } from "../models/model.ts";
import { openModels } from "../models/open-models.ts";
import type { ModelCallsEnvelope } from "../usage/envelope.ts";
import { parseSince } from "../usage/since.ts";
import { type Command, type CommandContext, defineCommand } from "./command.ts";
import { composeIdeFinder } from "./compose-ide.ts";
import { callGateway, findGateway } from "./gateway-client.ts";
import { overridesOf } from "./ide-options.ts";
import type { OpenLimitsSource } from "./limits-source.ts";
import { flag, text } from "./options.ts";
import { gatewayOptions } from "./serve.ts";
import { promptServers } from "./servers.ts";

/** `millrace models`: what the account can call, and with `--tools` how its models fared at calling tools. */
export function modelsCommand(openSource: OpenLimitsSource): Command {
  return defineCommand({
    name: "models",
    summary: "List the models of the account, by the names that requests use",
    description:
      "The list is the account's own, read from the IDE at that moment. With --tools: of the calls of tools that each model wrote for clients, how many were right at once, were repaired without loss, were right when the model was asked again, or failed.",
    group: "Look",
    options: {
      all: flag("also those that this plan cannot call"),
      vendor: text("only this vendor", "<name>"),
      refresh: flag("have a running gateway read the list anew too, instead of within five minutes"),
      tools: flag("how each model fared at calling tools"),
      since: text("with --tools: calls since then: 7d, 36h, 2026-11-01", "<time>", { defaultText: "30d" }),
      json: flag("print JSON"),
      ide: gatewayOptions.ide,
      endpoint: gatewayOptions.endpoint,
      tokenFile: gatewayOptions.tokenFile,
    },
    examples: [
      ["millrace models", "what can be called"],
      ["millrace models --all --vendor anthropic", "one vendor, with the reasons of the others"],
      ["millrace models --tools", "which model to trust with an agent"],
    ],
    async run({ options }, context) {
      const { io, out, settings, signal } = context;
      if (options.tools) return showToolCalls(options, await openSource(context), context);
      const finder = composeIdeFinder(io, overridesOf(io, options));
      try {
        const servers = promptServers(finder);
        const models = openModels(async (asked) => (await servers.find(asked)).getUserStatus(asked), {
          clock: io.clock,
        });
        const list = (await models.list({ refresh: true }, signal)).filter(
          (model) =>
            (options.all || model.disabledReason === undefined) &&
            (options.vendor === undefined || model.vendor === options.vendor),
        );
        const gateway = options.refresh ? await findGateway(settings, signal) : undefined;
        if (gateway !== undefined) await callGateway(gateway, "/v1/models?refresh=1", { signal });
        if (options.json) out.json(list);
        else printModels(list, context);
      } finally {
        finder.close();
      }
    },
  });
}

async function showToolCalls(
  options: { readonly since: string | undefined; readonly json: boolean },
  source: Awaited<ReturnType<OpenLimitsSource>>,
  { io, out, signal }: CommandContext,
): Promise<void> {
  try {
    const sinceMs = parseSince(options.since ?? "30d", io.clock.now(), "--since");
    const counted = await source.toolCalls(sinceMs, signal);
    if (options.json) out.json(counted);
    else if (counted.data.length === 0) out.note("No model called a tool in that time.");
    else
      printTable(["MODEL", "CALLS", "FIRST TRY", "REPAIRED", "RE-ASKED", "FAILED"], counted.data.map(callCells), out);
  } finally {
    source.close();
  }
}

/** Counts, with their share of all calls where there are any. */
function callCells({ name, calls, first_try, repaired, reasked, failed }: ModelCallsEnvelope): readonly string[] {
  const shown = (count: number) => (count === 0 ? "0" : `${count} (${Math.round((count / calls) * 100)} %)`);
  return [name, String(calls), shown(first_try), shown(repaired), shown(reasked), shown(failed)];
}

function printModels(models: readonly Model[], { out }: CommandContext): void {
  const rows = models.map((model) => [
    model.name,
    model.vendor,
    model.contextTokens === undefined ? "unknown" : `${Math.round(model.contextTokens / 1000)}k`,
    cost(model),
    model.supportsImages ? "images" : "",
    [
      model.isDefault ? "default" : "",
      model.isNew ? "new" : "",
      model.disabledReason === undefined ? "" : `not callable: ${model.disabledReason}`,
    ]
      .filter((mark) => mark !== "")
      .join(", "),
  ]);
  printTable(["NAME", "VENDOR", "CONTEXT", "COST", "INPUT", ""], rows, out);
  if (rows.length === 0) out.note("No model fits.");
}

function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  out: Pick<CommandContext["out"], "line" | "style">,
): void {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  out.line(out.style("bold", line(head)));
  for (const row of rows) out.line(line(row));
}

function cost(model: Model): string {
  if (model.creditMultiplier !== undefined) return model.creditMultiplier === 0 ? "free" : `${model.creditMultiplier}x`;
  return model.costTier ?? "unknown";
}
