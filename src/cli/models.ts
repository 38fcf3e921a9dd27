import type { Model } from "../models/model.ts";
import { openModels } from "../models/open-models.ts";
import { type CommandContext, defineCommand } from "./command.ts";
import { composeIdeFinder } from "./compose-ide.ts";
import { overridesOf } from "./ide-options.ts";
import { flag, text } from "./options.ts";
import { gatewayOptions } from "./serve.ts";
import { promptServers } from "./servers.ts";

export const modelsCommand = defineCommand({
  name: "models",
  summary: "List the models of the account, by the names that requests use",
  group: "Look",
  options: {
    all: flag("also those that this plan cannot call"),
    vendor: text("only this vendor", "<name>"),
    json: flag("print JSON"),
    ide: gatewayOptions.ide,
    endpoint: gatewayOptions.endpoint,
    tokenFile: gatewayOptions.tokenFile,
  },
  examples: [
    ["millrace models", "what can be called"],
    ["millrace models --all --vendor anthropic", "one vendor, with the reasons of the others"],
  ],
  async run({ options }, context) {
    const { io, out, signal } = context;
    const finder = composeIdeFinder(io, overridesOf(io, options));
    try {
      const servers = promptServers(finder);
      const models = openModels(async (asked) => (await servers.find(asked)).getUserStatus(asked), { clock: io.clock });
      const list = (await models.list({ refresh: true }, signal)).filter(
        (model) =>
          (options.all || model.disabledReason === undefined) &&
          (options.vendor === undefined || model.vendor === options.vendor),
      );
      if (options.json) out.json(list);
      else printTable(list, context);
    } finally {
      finder.close();
    }
  },
});

function printTable(models: readonly Model[], { out }: CommandContext): void {
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
  const head = ["NAME", "VENDOR", "CONTEXT", "COST", "INPUT", ""];
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  out.line(out.style("bold", line(head)));
  for (const row of rows) out.line(line(row));
  if (rows.length === 0) out.note("No model fits.");
}

function cost(model: Model): string {
  if (model.creditMultiplier !== undefined) return model.creditMultiplier === 0 ? "free" : `${model.creditMultiplier}x`;
  return model.costTier ?? "unknown";
}
