import type { IdeVariant } from "./transport/endpoint.ts";

/** The first version that is called Devin Desktop. Source: docs/dev/wire/devin-desktop.md, "Names and versions". */
const firstDevin = 3;
/** The first version without Cascade. Source: docs/dev/wire/devin-desktop.md, "Cascade". */
const withoutCascade: readonly [major: number, minor: number] = [3, 9];

/**
 * The name of a build for people: "Devin Desktop 3.10 (formerly Windsurf)", "Windsurf 2.2", "Windsurf Next". For an unknown version
 * `isDevin` decides: whether the build's files or program carry the new name.
 */
export function productName(variant: IdeVariant, version: string, isDevin = false): string {
  const [major, minor] = numbersOf(version);
  const short = major === undefined ? "" : ` ${major}${minor === undefined ? "" : `.${minor}`}`;
  if (variant === "antigravity") return `Antigravity${short}`;
  const next = variant === "windsurf-next" ? " Next" : "";
  const renamed = major === undefined ? isDevin : major >= firstDevin;
  return renamed ? `Devin Desktop${next}${short} (formerly Windsurf${next})` : `Windsurf${next}${short}`;
}

/** The same for a narrow place: "Devin", "Windsurf", "Next", "Antigravity". */
export function shortProductName(variant: IdeVariant, version: string): string {
  if (variant === "antigravity") return "Antigravity";
  if (variant === "windsurf-next") return "Next";
  const [major] = numbersOf(version);
  return major !== undefined && major >= firstDevin ? "Devin" : "Windsurf";
}

/** Whether a build is so new that its Cascade was removed; an unknown version is not. */
export function isWithoutCascade(version: string): boolean {
  const [major, minor = 0] = numbersOf(version);
  if (major === undefined) return false;
  return major > withoutCascade[0] || (major === withoutCascade[0] && minor >= withoutCascade[1]);
}

function numbersOf(version: string): readonly [major?: number, minor?: number] {
  const match = /^v?(\d{1,6})(?:\.(\d{1,6}))?/.exec(version);
  if (match === null) return [];
  return match[2] === undefined ? [Number(match[1])] : [Number(match[1]), Number(match[2])];
}
