/** The vendor's product by today's name; its earlier name, Windsurf, still works and is what Millrace uses inside. */
export const ideNames = { devin: "windsurf", "devin-next": "windsurf-next", antigravity: "antigravity" } as const;

const namesToday: ReadonlyMap<unknown, string> = new Map(
  Object.entries(ideNames).map(([name, inside]) => [inside, name]),
);

/** For `JSON.stringify`: the style of every `--json`. Members have names in snake_case, and IDEs today's names. */
export function inJsonStyle(key: string, value: unknown): unknown {
  if (key === "ide" || key === "variant") return namesToday.get(value) ?? value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [snakeCase(name), member]));
}

/** Only our own names: a name that is a text of others (an id, a path) stays. */
function snakeCase(name: string): string {
  return /^[a-z]+(?:[A-Z][a-z0-9]*)+$/.test(name)
    ? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    : name;
}
