/**
 * The anchor that GitHub gives a heading; the site gives it the same one.
 *
 * @public `site/.vitepress/config.ts` imports it.
 */
export function anchorOf(heading: string): string {
  return heading
    .replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** A list of names and what each means; a `<` outside of code is spelled so that it stays text. */
export function list(rows: readonly (readonly [name: string, meaning: string])[]): string {
  return rows.map(([name, meaning]) => `- ${name}: ${spelled(meaning)}`).join("\n");
}

function spelled(text: string): string {
  const parts = text.split("`");
  return parts.map((part, index) => (index % 2 === 0 ? part.replaceAll("<", "&lt;") : part)).join("`");
}
