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
  const words: readonly (readonly [string, string])[] = [
    [known.home, "~"],
    [known.user, "[user]"],
    [known.hostName, "[host]"],
  ];
  return (text) => {
    let clean = text;
    for (const secret of exact) clean = clean.replaceAll(secret, "[redacted]");
    for (const [word, stand] of words) {
      if (word.length > 2) clean = clean.replaceAll(boundary(word), stand);
    }
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

/** A word that is not part of a longer one: `ann` in `/home/ann/x`, not in `channel`. */
function boundary(word: string): RegExp {
  return new RegExp(
    `(?<![\\p{L}\\p{N}])${word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)}(?![\\p{L}\\p{N}])`,
    "gu",
  );
}
