import { jsonText } from "../terminal/foreign-text.ts";

/** Known values that must not leave the machine. */
export interface KnownNames {
  /** API keys, CSRF tokens, the gateway's key. */
  readonly secrets: readonly string[];
  readonly home: string;
  readonly user: string;
  readonly hostName: string;
}

const forms: readonly (readonly [RegExp, string])[] = [
  [/eyJ[\w-]{8,}\.[\w-]+\.?[\w-]*/g, "[token]"],
  [/\b(?:sk|mr|cog|gh[a-z]|xox[a-z])[-_][\w-]{8,}/g, "[key]"],
  [/\bdevin-session-token\$[\w.-]+/g, "[key]"],
  [/\bAIza[\w-]{20,}|\bya29\.[\w-]+/g, "[key]"],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, "$1 [key]"],
  [/((?:csrf|api|access|auth|secret)[-_ ]?(?:token|key)"?\s*[=: ]\s*"?)(?!\[)[^\s",}]{6,}/gi, "$1[redacted]"],
  [/\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b/g, "[e-mail]"],
  [/\/\/[^\s/@:]+:[^\s/@]+@/g, "//[redacted]@"],
];
const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;
const longWord = /\b[A-Za-z0-9_+/=-]{40,}/g;

/**
 * A function that removes credentials and everything that identifies the user from a text: the known values, then everything that has
 * the form of a key, a token or an address. UUIDs become `[id 1]`, `[id 2]`, the same id for the same UUID, because old keys and
 * tokens are UUIDs too. In doubt it removes too much.
 */
export function redactor(known: KnownNames): (text: string) => string {
  const ids = new Map<string, string>();
  const exact = known.secrets.filter((secret) => secret.length >= 4).toSorted((a, b) => b.length - a.length);
  const words: readonly (readonly [RegExp, string])[] = [
    ...(known.home.length > 2 ? unicodeForms(known.home).map((home) => [homePath(home), "~"] as const) : []),
    ...unicodeForms(known.user).flatMap((user) => nameForms(user).map((form) => [form, "[user]"] as const)),
    ...unicodeForms(known.hostName).flatMap((host) => nameForms(host).map((form) => [form, "[host]"] as const)),
  ];
  return (text) => {
    let clean = text;
    for (const secret of exact) clean = clean.replaceAll(secret, "[redacted]");
    for (const [word, stand] of words) clean = clean.replaceAll(word, stand);
    for (const [form, stand] of forms) clean = clean.replaceAll(form, stand);
    clean = clean.replaceAll(uuid, (id) => {
      const key = id.toLowerCase();
      const stand = ids.get(key) ?? `[id ${ids.size + 1}]`;
      ids.set(key, stand);
      return stand;
    });
    return clean.replaceAll(longWord, (word) =>
      /\d/.test(word) && /[A-Za-z]/.test(word) && !word.includes("/") ? "[redacted]" : word,
    );
  };
}

/** A value as JSON, without what `redact` removes: from each text as it is, because JSON writes a backslash twice, and from names beside their values. */
export function redactedJson(value: unknown, redact: (text: string) => string): string {
  const clean = JSON.stringify(value, (_, part: unknown) => (typeof part === "string" ? redact(part) : part));
  return redact(jsonText(JSON.parse(clean), 2));
}

const literal = (word: string) => word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);

/** Both forms in which systems write letters with marks: file systems of macOS may use the other one than its user. */
const unicodeForms = (text: string) => [...new Set([text.normalize("NFC"), text.normalize("NFD")])];

/** The home folder with either slash; Windows takes both. Windows and macOS take letters of any case. */
function homePath(home: string): RegExp {
  const parts = home.split(/[\\/]+/).map(literal);
  return new RegExp(
    `${parts.join(String.raw`[\\/]+`)}(?![\\p{L}\\p{N}])`,
    /^(?:[A-Za-z]:|\/Users\/)/.test(home) ? "giu" : "gu",
  );
}

/** A name that is not part of a longer word: `ann` in `/home/ann/x`, not in `channel`. One of two letters counts where only a name stands: as a folder, or before an `@`. */
function nameForms(name: string): readonly RegExp[] {
  if (name === "") return [];
  if (name.length > 2) return [new RegExp(`(?<![\\p{L}\\p{N}])${literal(name)}(?![\\p{L}\\p{N}])`, "gu")];
  return [
    new RegExp(String.raw`(?<=(?:home|Users)[\\/]+)${literal(name)}(?![\p{L}\p{N}])`, "giu"),
    new RegExp(`(?<![\\p{L}\\p{N}])${literal(name)}(?=@)`, "gu"),
  ];
}
