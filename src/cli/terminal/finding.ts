import { exitCodes } from "./exit-codes.ts";

/** The area of a finding. */
export type Area = "ide" | "account" | "agent" | "gateway" | "key" | "store" | "conversations" | "answer";

/** One checked thing, its state, and the next step if it is not well. Never holds a secret. */
export interface Finding {
  readonly area: Area;
  readonly level: "ok" | "note" | "warning" | "error";
  readonly what: string;
  readonly todo?: string;
}

export function finding(area: Area, level: Finding["level"], what: string, todo?: string): Finding {
  return { area, level, what, ...(todo === undefined ? {} : { todo }) };
}

/** The exit code for an error in an area; a warning is 1 everywhere. */
const errorCode: Readonly<Record<Area, number>> = {
  ide: exitCodes.unavailable,
  account: exitCodes.notAllowed,
  agent: exitCodes.unavailable,
  gateway: exitCodes.unavailable,
  key: exitCodes.cannotCreate,
  store: exitCodes.cannotCreate,
  conversations: exitCodes.negative,
  answer: exitCodes.unavailable,
};

/** The exit code of the worst finding: 0 for notes alone, 1 for a warning, an error's own. */
export function exitCodeOfFindings(findings: readonly Finding[]): number {
  const error = findings.find(({ level }) => level === "error");
  if (error !== undefined) return errorCode[error.area];
  return findings.some(({ level }) => level === "warning") ? exitCodes.negative : exitCodes.ok;
}
