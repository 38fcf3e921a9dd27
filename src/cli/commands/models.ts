import { existsSync } from "node:fs";
import type { BackendLifecycle } from "../../backends/lifecycle.ts";
import { Emitter } from "../../base/emitter.ts";
import { isMillraceError } from "../../base/errors.ts";
import { commonName } from "../../models/common-name.ts";
import type { ModelLifecycle } from "../../models/lifecycle.ts";
import { type Model, type Models, priceOf } from "../../models/model.ts";
import { inOrder } from "../../models/model-order.ts";
import { shapeOf } from "../../models/model-shape.ts";
import type { SpendEnvelope } from "../../usage/envelope.ts";
import { creditsInWords, creditsOfAll } from "../../usage/prices.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { composeIdeFinder } from "../compose/compose-ide.ts";
import { composeUpstream } from "../compose/compose-upstream.ts";
import { limitsSource, type OpenLimitsSource } from "../compose/limits-source.ts";
import { callGateway, findGateway } from "../gateway-process/gateway-client.ts";
import { choice, flag, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { gatewayOptions, overridesOf } from "../serve/gateway-options.ts";
import { spellAge, spellCount } from "../terminal/spell.ts";
import { type Column, printTable } from "../terminal/table.ts";

/** `millrace models`: the models that the account can call. */
export function modelsCommand(openSource: OpenLimitsSource = limitsSource()): Command {
  return defineCommand({
    ...outlines.models,
    description:
      "Lists the models of your account, as the IDE or its agent program reports them now, and the models of the agents in config.toml. Each row is one family; its variants differ in effort, speed or context size.",
    options: {
      free: flag("only models that cost nothing"),
      sort: choice("order of the rows", ["used", "cost", "name"], "used", {
        defaultText: "used: those that you used last, the default, the newest",
      }),
      all: flag("one row for each variant, including those that your plan does not allow"),
      vendor: text("only this vendor", "<name>"),
      refresh: flag("also make the running gateway read the list again now, not within five minutes"),
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
      ["millrace models --free", "what costs nothing; `--sort cost` begins with the cheapest"],
      ["millrace models --json", "all details of each model"],
      ["millrace models --all --vendor anthropic", "all models of one vendor, and why some cannot be used"],
    ],
    async run({ options, args }, context) {
      const { io, out, settings, signal } = context;
      const finder = composeIdeFinder(io, overridesOf(io, options));
      const events = new Emitter<ModelLifecycle & BackendLifecycle>();
      events.on("agent_models_unread", ({ agent, error }) => out.note(unread(agent, error)));
      const upstream = composeUpstream({ ...options, io, finder, events });
      try {
        const { models } = upstream;
        const all = await models.list({ refresh: true }, signal);
        const past = await pastOf(all, openSource, context);
        const list = sorted(inOrder(all, past.lastUses), options.sort).filter(
          (model) =>
            (options.all || model.disabledReason === undefined) &&
            (!options.free || priceOf(model) === 0) &&
            (options.vendor === undefined || model.vendor === options.vendor) &&
            hasWords(model, args),
        );
        const gateway = options.refresh ? await findGateway(settings, signal) : undefined;
        if (gateway !== undefined) await callGateway(gateway, "/v1/models?refresh=1", { signal });
        if (options.json) out.json({ data: list.map((model) => encoded(model, past)) });
        else await printModels(list, models, { ...options, past }, context);
      } finally {
        await upstream.agents.close();
        finder.close();
      }
    },
  });
}

/** What the usage history knows of models. */
export interface ModelsPast {
  /** Epoch ms, by UID. */
  readonly lastUses: ReadonlyMap<string, number>;
  /** The use of the last seven days, by UID. */
  readonly week: ReadonlyMap<string, SpendEnvelope>;
  readonly nowMs: number;
}

/** Empty where there is no history yet, or none that can be read: the list is of use without it. */
async function pastOf(
  models: readonly Model[],
  openSource: OpenLimitsSource,
  context: CommandContext,
): Promise<ModelsPast> {
  const { settings, signal, io } = context;
  const nowMs = io.clock.now();
  const none: ModelsPast = { lastUses: new Map(), week: new Map(), nowMs };
  if (!existsSync(settings.storeFile) && (await findGateway(settings, signal)) === undefined) return none;
  try {
    const source = await openSource(context);
    try {
      const uids = models.map(({ uid }) => uid);
      const { data } = await source.usage({ sinceMs: nowMs - weekMs, by: "model", timeZone: "UTC" }, signal);
      const lastUses = await source.lastUses(uids, signal);
      return { ...none, lastUses, week: new Map(data.map((spend) => [spend.key ?? "", spend])) };
    } finally {
      source.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (isMillraceError(error)) return none;
    throw error;
  }
}

const weekMs = 7 * 86_400_000;

/** By cost: the cheapest first, unknown prices last, and equal ones in the usual order. */
function sorted(models: readonly Model[], by: "used" | "cost" | "name"): readonly Model[] {
  if (by === "used") return models;
  if (by === "name") return models.toSorted((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const price = (model: Model) => priceOf(model) ?? Number.POSITIVE_INFINITY;
  return models.toSorted((a, b) => (price(a) === price(b) ? 0 : price(a) - price(b)));
}

function encoded(model: Model, { lastUses, week }: ModelsPast): object {
  const [at, spend] = [lastUses.get(model.uid), week.get(model.uid)];
  const credits = spend === undefined ? undefined : creditsOfAll([spend]);
  return {
    ...model,
    lastUsedAt: at === undefined ? null : new Date(at).toISOString(),
    creditsThisWeek: spend === undefined ? 0 : (credits?.value ?? null),
  };
}

function unread(agent: string, error: unknown): string {
  const why = isMillraceError(error) ? ` ${error.message} ${error.hint}` : "";
  return `The models of the agent ${agent} could not be read.${why}`;
}

/** A row for each family, or with `all` for each model, including those that cannot be called. */
async function printModels(
  list: readonly Model[],
  models: Models,
  {
    all,
    free,
    wide,
    past,
  }: { readonly all: boolean; readonly free: boolean; readonly wide: boolean; readonly past: ModelsPast },
  { out, signal }: CommandContext,
): Promise<void> {
  if (list.length === 0)
    return out.note(
      free
        ? "No such model is listed as free. `millrace models --sort cost` shows the prices that are known."
        : "No model matches. `millrace models` lists all.",
    );
  const names = new Map<string, Model | undefined>();
  for (const { name } of all ? [] : familiesOf(list, () => undefined))
    names.set(name, await meant(models, name, signal));
  const families = familiesOf(list, (name) => names.get(name));
  const rows = all ? list.map((model) => modelRow(model, past)) : families.map((family) => familyRow(family, past));
  printTable(all ? modelColumns : familyColumns, rows, out, wide);
  if (!all && list.length > families.length) {
    out.note(
      "In a request, write the name, or the name with a variant (claude-opus-4.7:high). * marks the variant that the name alone means. `millrace models --all` has a row for each variant.",
    );
  }
}

function hasWords(model: Model, words: readonly string[]): boolean {
  const { name, label, uid } = model;
  const text = `${name} ${label} ${uid} ${priceOf(model) === 0 ? "free" : ""}`.toLowerCase();
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
  { title: "THIS WEEK", whole: true, drop: 2 },
  { title: "LAST USED", whole: true, drop: 3 },
  { title: "NOTES", narrow: 7, drop: 1 },
  { title: "VARIANTS", narrow: 11, drop: 4 },
  { title: "CONTEXT", whole: true, drop: 5 },
  { title: "VENDOR", drop: 6 },
  { title: "TIER", drop: 7 },
  { title: "INPUT", drop: 8 },
  { title: "BACKEND", drop: 9 },
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
export function familyRow({ name, members, plain }: ModelFamily, past: ModelsPast): readonly string[] {
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
    weekCell(members, past),
    lastUseCell(members, past),
    marks.filter((mark) => mark !== "").join(", "),
    variantsCell(shown),
    range(members, (model) => model.contextTokens, tokens),
    members[0]?.vendor ?? "",
    tierRange(members),
    members.some((member) => member.supportsImages) ? "images" : "",
    [...new Set(members.flatMap(({ backend }) => backend ?? []))].join(", "),
  ];
}

/** What the family cost this week: `~` where the price list says it, `≥` where a price is not known. */
function weekCell(members: readonly Model[], { week }: ModelsPast): string {
  const spends = members.flatMap(({ uid }) => week.get(uid) ?? []);
  if (spends.length === 0) return "";
  const credits = creditsOfAll(spends);
  if (credits === undefined) {
    const turns = spends.reduce((sum, spend) => sum + spend.turns, 0);
    return spellCount(turns, "turn");
  }
  return `${creditsInWords(credits)} cr`;
}

function lastUseCell(members: readonly Model[], { lastUses, nowMs }: ModelsPast): string {
  const at = Math.max(...members.map(({ uid }) => lastUses.get(uid) ?? 0));
  return at === 0
    ? ""
    : `${spellAge(nowMs - at)
        .split(" ")
        .slice(0, 2)
        .join(" ")} ago`;
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
export function modelRow(model: Model, past: ModelsPast): readonly string[] {
  const cells = familyRow({ name: model.name, members: [model], plain: model }, past);
  const reason = model.disabledReason === undefined ? "" : `not callable: ${model.disabledReason}`;
  const marks = [cells[notesAt] ?? "", reason].filter((mark) => mark !== "").join(", ");
  return cells.with(notesAt, marks).toSpliced(variantsAt, 1);
}

/** The IDE does not say. */
const unknown = "-";

const tiers = ["free", "low", "medium", "high"] as const;

function tierRange(models: readonly Model[]): string {
  const ranks = models.flatMap(({ costTier }) => (costTier === undefined ? [] : [tiers.indexOf(costTier)]));
  if (ranks.length === 0) return unknown;
  return fromTo(tiers[Math.min(...ranks)] ?? "", tiers[Math.max(...ranks)] ?? "");
}

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
