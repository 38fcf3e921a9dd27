/** The anchor that GitHub gives a heading; the site gives it the same one. */
export function anchorOf(heading: string): string {
  return heading
    .replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
