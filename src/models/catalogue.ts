import { catalogueLines } from "./catalogue-data.ts";

/** The facts of a model beside the account's list. */
export interface CatalogueEntry {
  readonly uid: string;
  /** `claude-opus-4.7:high`. */
  readonly name: string;
  readonly vendor: string;
  readonly label: string;
}

/** Looks up names and vendors; never decides whether a model exists. */
export interface Catalogue {
  byUid(uid: string): CatalogueEntry | undefined;
  /** By the label as the IDE shows it, in any case. */
  byLabel(label: string): CatalogueEntry | undefined;
  readonly entries: readonly CatalogueEntry[];
}

/** Reads the checked-in table. */
export function createCatalogue(lines: string = catalogueLines): Catalogue {
  const entries = lines
    .trim()
    .split("\n")
    .map((line): CatalogueEntry => {
      const [uid = "", name = "", vendor = "", label = ""] = line.split("\t");
      return { uid, name, vendor, label };
    });
  const uids = new Map(entries.map((entry) => [entry.uid, entry]));
  const labels = new Map(entries.toReversed().map((entry) => [entry.label.toLowerCase(), entry]));
  return {
    entries,
    byUid: (uid) => uids.get(uid),
    byLabel: (label) => labels.get(label.trim().toLowerCase()),
  };
}
