import type { IdeVariant } from "./transport/endpoint.ts";

/** The first version without Cascade. Source: docs/dev/wire/devin-desktop.md, "Cascade". */
const withoutCascade: readonly [major: number, minor: number] = [3, 9];

/**
 * The name of a build for people, one for all of its versions: "Devin Desktop 3.10 (formerly Windsurf)", "Devin Desktop Next (formerly
 * Windsurf Next)", "Antigravity 1.2". `variantOf` takes it back.
 */
export function productName(variant: IdeVariant, version: string): string {
  const [major, minor] = numbersOf(version);
  const short = major === undefined ? "" : ` ${major}${minor === undefined ? "" : `.${minor}`}`;
  if (variant === "antigravity") return `Antigravity${short}`;
  const next = variant === "windsurf-next" ? " Next" : "";
  return `Devin Desktop${next}${short} (formerly Windsurf${next})`;
}

/** The same for a narrow place. */
export const shortProductNames = {
  windsurf: "Devin",
  "windsurf-next": "Next",
  antigravity: "Antigravity",
} as const satisfies Record<IdeVariant, string>;

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
