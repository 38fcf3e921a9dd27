/** The words for IDEs outside of Millrace, by its own words: the vendor renamed the product, and stored rows keep the earlier name. */
const names = { windsurf: "devin", "windsurf-next": "devin-next", antigravity: "antigravity" } as const;

/** Today's name of the product, for sentences about a missing one. */
export const productToday = "Devin Desktop (formerly Windsurf)";

type IdeVariant = keyof typeof names;

/** The word for an IDE in options, JSON, headers, metrics and sentences. */
export type IdeName = (typeof names)[IdeVariant];

export const ideNames: readonly [IdeName, ...IdeName[]] = ["devin", "devin-next", "antigravity"];

/** The word for a variant outside of Millrace. Anything else, such as the name of an agent, stays. */
export function ideName(ide: IdeVariant): IdeName;
export function ideName(ide: string): string;
export function ideName(ide: string): string {
  return isVariant(ide) ? names[ide] : ide;
}

/** The variant that words of the user mean, in any case: `devin`, the earlier `windsurf`, or a product's name as a screen shows it. */
export function variantOf(words: string): IdeVariant | undefined {
  const bare = words.toLowerCase().replace(/ ?[,(].*$/s, ""); // without what the product was called, or that it is a stand-in
  const word = bare
    .replace(/ \d[\d.]*$/, "")
    .replace(/^devin desktop/, "devin")
    .replaceAll(" ", "-");
  if (word === "next") return "windsurf-next";
  return (Object.keys(names) as IdeVariant[]).find((variant) => variant === word || names[variant] === word); // its own keys
}

/** The names that all builds of an IDE share, for people. */
const products: Readonly<Record<IdeName, string>> = {
  devin: "Devin Desktop",
  "devin-next": "Devin Desktop Next",
  antigravity: "Antigravity",
};

/** The name of an IDE where no build is at hand; the word of another version, or of an agent, stays. */
export function productOfIde(ide: string): string {
  return Object.hasOwn(products, ide) ? products[ide as IdeName] : ide; // it is a key
}

function isVariant(word: string): word is IdeVariant {
  return Object.hasOwn(names, word);
}
