import { z } from "zod";
import { modelSchema } from "../../gateway/dashboard/inventory.ts";
import { commonName } from "../../models/common-name.ts";
import { priceOf } from "../../models/model.ts";
import { shapeOf } from "../../models/model-shape.ts";
import { idOf } from "../clients/target.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { withGateway } from "../compose/use-gateway.ts";
import { askGateway } from "../gateway-process/gateway-client.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { ownGatewayOptions } from "../serve/gateway-options.ts";
import { type Column, printTable } from "../terminal/table.ts";

const listSchema = z.object({ data: z.array(modelSchema) });
/** A model as the gateway lists it. */
type Model = z.output<typeof modelSchema>;

/** `millrace models`: the models that the account can call. */
export const modelsCommand = defineCommand({
  ...outlines.models,
  description:
    "Lists the models of your account, as the IDE or its agent program reports them now, and the models of the agents in config.toml. It asks the running gateway, or starts one as `chat` does. Each row is one family; its variants differ in effort, speed or context size. `millrace usage --by model` has what they cost you.",
  options: {
    free: flag("only models that cost nothing"),
    all: flag("one row for each variant, including those that your plan does not allow"),
    wide: flag("show all columns, even on a narrow terminal"),
    json: flag("print JSON, as GET /dashboard/api/models"),
    ...ownGatewayOptions,
  },
  examples: [
    ["millrace models", "the models that you can use"],
    ["millrace models opus", "the models with that word in their name"],
    ["millrace models --free", "what costs nothing"],
    ["millrace models --json", "all details of each model"],
    ["millrace models --all anthropic", "all models of one vendor, and why some cannot be used"],
  ],
  run: ({ options, args }, context) =>
    withGateway({ ...options, sendsPrompts: false }, context, async (gateway) => {
      const { out, signal } = context;
      const { data } = await askGateway(gateway, "/dashboard/api/models?refresh=1", listSchema, { signal });
      const list = data.filter(
        (model) =>
          (options.all || model.disabled_reason === null) &&
          (!options.free || costOf(model) === 0) &&
          hasWords(model, args),
      );
      if (options.json) return out.json({ data: list });
      if (list.length > 0) return printModels(list, options, out);
      const typed = args.join(" ");
      out.note(
        options.free
          ? "No such model is known to be free. `millrace models` shows the known prices; `-` is an unknown one."
          : typed === ""
            ? "Your plan allows no model. `millrace models --all` says why."
            : `${typed} means ${await idOf(gateway, typed, signal)}.`, // or an error that names the nearest
      );
    }),
});

/** A row for each family, or with `all` for each model, including those that cannot be called. */
function printModels(
  list: readonly Model[],
  { all, wide }: Readonly<Record<"all" | "wide", boolean>>,
  out: CommandContext["out"],
): void {
  const families = familiesOf(list);
  printTable(all ? modelColumns : familyColumns, all ? list.map(modelRow) : families.map(familyRow), out, wide);
  if (!all && list.length > families.length)
    out.note(
      "In a request, write the name, or the name with a variant (claude-opus-4.7:high). `millrace models --all` has a row for each variant.",
    );
}

function hasWords(model: Model, words: readonly string[]): boolean {
  const { name, label, uid, vendor } = model;
  const text = `${name} ${label} ${uid} ${vendor} ${costOf(model) === 0 ? "free" : ""}`.toLowerCase();
  return words.every((word) => text.includes(word.toLowerCase()));
}

/** A model's price in credits for one prompt; undefined where the list does not say. */
function costOf({ cost_tier: costTier, credit_multiplier: credits }: Model): number | undefined {
  return priceOf({ costTier: costTier ?? undefined, creditMultiplier: credits ?? undefined });
}

/** Models of one family: the common part of their names, and each one's addition. */
type ModelFamily = ReturnType<typeof familiesOf>[number];

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
const modelColumns = familyColumns.filter(({ title }) => title !== "VARIANTS");

/** Families stand where their first model stood. */
export function familiesOf(models: readonly Model[]) {
  const groups = Map.groupBy(models, ({ vendor, name }) => `${vendor} ${shapeOf(name).base}`);
  return [...groups.values()].map((members) => ({ name: commonName(members.map(({ name }) => name)), members }));
}

/** One row for a family: ranges where its members differ. */
export function familyRow({ name, members }: ModelFamily): readonly string[] {
  const variants = members.filter((member) => member.name !== name);
  const behind = (whole: string) => (whole.startsWith(name) ? whole.slice(name.length) : whole);
  const shown = variants.map((member) => behind(member.name)).join(" ");
  const newOnes = members.filter((member) => member.is_new);
  const marks = [
    members.some((member) => member.is_default) ? "default" : "",
    newOnes.length === 0 ? "" : newOnes.length === members.length ? "new" : `${newOnes.length} new`,
  ];
  return [
    name,
    range(members, costOf, price),
    marks.filter((mark) => mark !== "").join(", "),
    shown.length <= 40 ? shown : `${variants.length} variants`, // on a terminal of 80 columns
    range(members, (model) => model.context_tokens ?? undefined, tokens),
    members[0]?.vendor ?? "",
    members.some((member) => member.images) ? "images" : "",
    [...new Set(members.flatMap(({ backend }) => backend ?? []))].join(", "),
  ];
}

const variantsAt = familyColumns.findIndex(({ title }) => title === "VARIANTS");
const notesAt = familyColumns.findIndex(({ title }) => title === "NOTES");

/** One row for one model, by its whole name, without the column of variants. */
export function modelRow(model: Model): readonly string[] {
  const cells = familyRow({ name: model.name, members: [model] });
  const reason = model.disabled_reason === null ? "" : `not callable: ${model.disabled_reason}`;
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
