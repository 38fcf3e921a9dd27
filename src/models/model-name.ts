import { ModelSchema } from "../proto/windsurf/exa/codeium_common_pb.ts";
import type { Catalogue } from "./catalogue.ts";
import { type ModelShape, shapeOf } from "./model-shape.ts";

/**
 * The displayed name of a model: `claude-opus-4.7:high`. It comes from the catalogue if the UID is known there, else from a string
 * UID, else from the label. The model behind a `MODEL_PRIVATE_n` differs between accounts, so its name comes from the label alone.
 *
 * Source: docs/dev/wire/account.md, "Names and suffixes".
 */
export function modelName(uid: string, label: string, catalogue: Catalogue): string {
  if (isPrivate(uid)) return oneForm(catalogue.byLabel(label)?.name ?? spelled(label) ?? uid);
  const known = catalogue.byUid(uid) ?? (isEnumName(uid) ? catalogue.byLabel(label) : undefined);
  return oneForm(known?.name ?? (isEnumName(uid) ? undefined : ofUid(uid)) ?? spelled(label) ?? uid);
}

/** The vendor swapped version and family in names of Claude: `claude-4.5-opus-thinking` → `claude-opus-4.5:thinking`. */
function oneForm(name: string): string {
  const ordered = name.replace(/^claude-(\d+(?:\.\d+)?)-(opus|sonnet|haiku)(?=[-:]|$)/, "claude-$2-$1");
  const parts = /^claude-(opus|sonnet|haiku)-(\d+(?:\.\d+)?)(?:[-:](thinking|1m|thinking-1m))?$/.exec(ordered);
  if (parts === null) return ordered;
  const [, family, version, lane] = parts;
  return `claude-${family}-${version}${lane === undefined ? "" : `:${lane}`}`;
}

/** The name of a model of which only the UID is known; the UID itself if no name follows from it. */
export function nameOfUid(uid: string, catalogue: Catalogue): string {
  if (isPrivate(uid)) return uid;
  return oneForm(catalogue.byUid(uid)?.name ?? (isEnumName(uid) ? uid : (ofUid(uid) ?? uid)));
}

/** Whether a UID is a slot whose meaning is the account's own. */
export function isPrivate(uid: string): boolean {
  return /^MODEL_PRIVATE_\d+$/.test(uid);
}

/** Whether a UID is a name of the `Model` enum. */
function isEnumName(uid: string): boolean {
  return uid.startsWith("MODEL_");
}

const numberByName: ReadonlyMap<string, number> = new Map(ModelSchema.values.map(({ name, number }) => [name, number]));

/** The number of a UID that is a name of the `Model` enum. The vendor counts upwards, so a lower one is older. */
export function numberOfUid(uid: string): number | undefined {
  return numberByName.get(uid);
}

/** A pair of models (`a+b`) keeps its UID: as one name, its words would mix. Only in a UID does "thinking" tell from the plain effort. */
function ofUid(uid: string): string | undefined {
  return uid.includes("+") ? uid : dotted(shapeOf(uid));
}

/** `GPT-5.1 Low Thinking` → `gpt-5.1:low`. Nothing for a text without a word, or for a pair of models. */
function spelled(label: string): string | undefined {
  if (label.includes("+")) return undefined;
  const shape = shapeOf(label);
  return dotted(shape.effort === undefined ? shape : { ...shape, lanes: shape.lanes.replace(/^thinking$/, "") });
}

/** `gpt-5-1-low` → `gpt-5.1:low`. */
function dotted({ base, effort, lanes }: ModelShape): string | undefined {
  if (base === "") return undefined;
  const variant = [effort, lanes].filter((part) => part !== undefined && part !== "").join("-");
  const name = base.replace(/(?<=-)(\d{1,2})-(\d{1,2})(?=-|$)/, "$1.$2");
  return variant === "" ? name : `${name}:${variant}`;
}
