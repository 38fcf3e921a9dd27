import type { BackendLifecycle } from "../../backends/lifecycle.ts";
import { Emitter } from "../../base/emitter.ts";
import { isMillraceError } from "../../base/errors.ts";
import { commonName } from "../../models/common-name.ts";
import type { ModelLifecycle } from "../../models/lifecycle.ts";
import { type Model, type Models, priceOf } from "../../models/model.ts";
import { inOrder } from "../../models/model-order.ts";
import { shapeOf } from "../../models/model-shape.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { composeIdeFinder } from "../compose/compose-ide.ts";
import { composeUpstream } from "../compose/compose-upstream.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { gatewayOptions, overridesOf } from "../serve/gateway-options.ts";
import { type Column, printTable } from "../terminal/table.ts";

/** `millrace models`: the models that the account can call. */
export const modelsCommand = defineCommand({
  ...outlines.models,
  description:
    "Lists the models of your account, as the IDE or its agent program reports them now, and the models of the agents in config.toml. Each row is one family; its variants differ in effort, speed or context size. `millrace usage --by model` has what they cost you.",
  options: {
    free: flag("only models that cost nothing"),
    all: flag("one row for each variant, including those that your plan does not allow"),
    wide: flag("show all columns, even on a narrow terminal"),
    json: flag("print JSON"),
    ide: gatewayOptions.ide,
    endpoint: gatewayOptions.endpoint,
    tokenFile: gatewayOptions.tokenFile,
    backend: gatewayOptions.backend,
    acpCommand: gatewayOptions.acpCommand,
  },
  examples: [
    ["millrace models", "the models that you can use"],
    ["millrace models opus", "the models with that word in their name"],
    ["millrace models --free", "what costs nothing"],
    ["millrace models --json", "all details of each model"],
    ["millrace models --all anthropic", "all models of one vendor, and why some cannot be used"],
  ],
  async run({ options, args }, context) {
    const { io, out, signal } = context;
    const finder = composeIdeFinder(io, overridesOf(io, options));
    const events = new Emitter<ModelLifecycle & BackendLifecycle>();
    events.on("agent_models_unread", ({ agent, error }) => out.note(unread(agent, error)));
    const upstream = composeUpstream({ ...options, io, finder, events });
    try {
      const { models } = upstream;
      const list = inOrder(await models.list({ refresh: true }, signal), new Map()).filter(
        (model) =>
          (options.all || model.disabledReason === undefined) &&
          (!options.free || priceOf(model) === 0) &&
          hasWords(model, args),
      );
      if (options.json) out.json({ data: list });
      else await printModels(list, models, options, context);
    } finally {
      await upstream.agents.close();
      finder.close();
    }
  },
});

function unread(agent: string, error: unknown): string {
  const why = isMillraceError(error) ? ` ${error.message} ${error.hint}` : "";
  return `The models of the agent ${agent} could not be read.${why}`;
}

/** A row for each family, or with `all` for each model, including those that cannot be called. */
async function printModels(
  list: readonly Model[],
  models: Models,
  { all, free, wide }: Readonly<Record<"all" | "free" | "wide", boolean>>,
  { out, signal }: CommandContext,
): Promise<void> {
  if (list.length === 0)
    return out.note(
      free
        ? "No such model is known to be free. `millrace models` shows the known prices; `-` is an unknown one."
        : "No model matches. `millrace models` lists all.",
    );
  const names = new Map<string, Model | undefined>();
  for (const { name } of all ? [] : familiesOf(list, () => undefined))
    names.set(name, await meant(models, name, signal));
  const families = familiesOf(list, (name) => names.get(name));
  const rows = all ? list.map(modelRow) : families.map(familyRow);
  printTable(all ? modelColumns : familyColumns, rows, out, wide);
  if (!all && list.length > families.length) {
    out.note(
      "In a request, write the name, or the name with a variant (claude-opus-4.7:high). * marks the variant that the name alone means. `millrace models --all` has a row for each variant.",
    );
  }
}

function hasWords(model: Model, words: readonly string[]): boolean {
  const { name, label, uid, vendor } = model;
  const text = `${name} ${label} ${uid} ${vendor} ${priceOf(model) === 0 ? "free" : ""}`.toLowerCase();
  return words.every((word) => text.includes(word.toLowerCase()));
}

/** The model that a request with that name would get; undefined if the request would be refused. */
async function meant(models: Models, name: string, signal: AbortSignal): Promise<Model | undefined> {
  try {
    return (await models.resolve(name, undefined, signal)).model;
  } catch (error) {
    if (isMillraceError(error) && (error.code === "unknown_model" || error.code === "model_not_allowed"))
      return undefined;
    throw error;
  }
}

/** Models of one family: the common part of their names, and each one's addition. */
export type ModelFamily = ReturnType<typeof familiesOf>[number];

/** The columns of `familyRow`; those of `modelRow` lack the variants. */
export const familyColumns: readonly Column[] = [
  { title: "NAME", whole: true },
  { title: "COST", whole: true },
  { title: "NOTES", narrow: 7, drop: 1 },
  { title: "VARIANTS", narrow: 11, drop: 2 },
  { title: "CONTEXT", whole: true, drop: 3 },
  { title: "VENDOR", drop: 4 },
  { title: "INPUT", drop: 5 },
  { title: "BACKEND", drop: 6 },
];
export const modelColumns = familyColumns.filter(({ title }) => title !== "VARIANTS");

/** `means` answers which model a name resolves to, if it is among the given ones. Families stand where their first model stood. */
export function familiesOf(models: readonly Model[], means: (name: string) => Model | undefined) {
  const groups = new Map<string, Model[]>();
  for (const model of models) {
    const base = `${model.vendor} ${shapeOf(model.name).base}`;
    const group = groups.get(base);
    if (group === undefined) groups.set(base, [model]);
    else group.push(model);
  }
  return [...groups.values()].map((members) => {
    const name = commonName(members.map((member) => member.name));
    const meant = means(name);
    return { name, members, plain: members.find((member) => member.uid === meant?.uid) };
  });
}

/** One row for a family: ranges where its members differ. */
export function familyRow({ name, members, plain }: ModelFamily): readonly string[] {
  const variants = members.filter((member) => member.name !== name);
  const behind = (whole: string) => (whole.startsWith(name) ? whole.slice(name.length) : whole);
  const shown = variants.map((member) => `${behind(member.name)}${member === plain ? "*" : ""}`);
  const newOnes = members.filter((member) => member.isNew);
  const marks = [
    members.some((member) => member.isDefault) ? "default" : "",
    newOnes.length === 0 ? "" : newOnes.length === members.length ? "new" : `${newOnes.length} new`,
  ];
  return [
    name,
    range(members, priceOf, price),
    marks.filter((mark) => mark !== "").join(", "),
    variantsCell(shown),
    range(members, (model) => model.contextTokens, tokens),
    members[0]?.vendor ?? "",
    members.some((member) => member.supportsImages) ? "images" : "",
    [...new Set(members.flatMap(({ backend }) => backend ?? []))].join(", "),
  ];
}

/** All variants if they are short enough for a terminal of 80 columns; else their number, and the one that the name alone means. */
function variantsCell(shown: readonly string[]): string {
  const all = shown.join(" ");
  if (all.length <= 40) return all;
  return [`${shown.length} variants`, ...shown.filter((variant) => variant.endsWith("*"))].join(", ");
}

const variantsAt = familyColumns.findIndex(({ title }) => title === "VARIANTS");
const notesAt = familyColumns.findIndex(({ title }) => title === "NOTES");

/** One row for one model, by its whole name, without the column of variants. */
export function modelRow(model: Model): readonly string[] {
  const cells = familyRow({ name: model.name, members: [model], plain: model });
  const reason = model.disabledReason === undefined ? "" : `not callable: ${model.disabledReason}`;
  const marks = [cells[notesAt] ?? "", reason].filter((mark) => mark !== "").join(", ");
  return cells.with(notesAt, marks).toSpliced(variantsAt, 1);
}

/** The IDE does not say. */
const unknown = "-";

function range(
  models: readonly Model[],
  valueOf: (model: Model) => number | undefined,
  write: (value: number) => string,
): string {
  const values = models.flatMap((model) => valueOf(model) ?? []);
  return values.length === 0 ? unknown : fromTo(write(Math.min(...values)), write(Math.max(...values)));
}

function fromTo(from: string, to: string): string {
  return from === to ? from : `${from} - ${to}`;
}

function tokens(count: number): string {
  return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${Number((count / 1_000_000).toFixed(2))}M`;
}

function price(multiplier: number): string {
  return multiplier === 0 ? "free" : `${multiplier}x`;
}
