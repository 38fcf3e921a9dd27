/** The anchor that GitHub gives a heading; the site gives it the same one. */
export function anchorOf(heading: string): string {
  return heading
    .replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** A list of names and what each means. */
export function list(rows: readonly (readonly [name: string, meaning: string])[]): string {
  return rows.map(([name, meaning]) => `- ${name}: ${spelled(meaning)}`).join("\n");
}

/** A table; in a cell a vertical line, a `<` outside of code and the end of a line are spelled so that they stay text. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.map(cellOf).join(" | ")} |`;
  return [row(head), `|${head.map(() => "---|").join("")}`, ...rows.map(row)].join("\n");
}

function cellOf(text: string): string {
  return spelled(text.replaceAll("|", "\\|").replaceAll("\n", " "));
}

function spelled(text: string): string {
  const parts = text.split("`");
  return parts.map((part, index) => (index % 2 === 0 ? part.replaceAll("<", "&lt;") : part)).join("`");
}
