import { stat } from "node:fs/promises";
import { isMillraceError } from "../../base/errors.ts";
import { joinPath } from "../../ide/apps/layouts.ts";
import type { Schemas } from "../../schema/open-schemas.ts";

/** How the schema of an IDE's build stands to ours. */
export interface SchemaReport {
  /** `same`: nothing moved. `moved`: some fields have other numbers. `broken`: something is missing that nothing works without. */
  readonly verdict: "same" | "moved" | "broken" | "unreadable" | "not_found";
  readonly differences: number;
  /** Missing or changed names that Millrace cannot work without; at most ten. */
  readonly load_bearing: readonly string[];
  readonly why?: string;
}

/** Reads the build's own `extension.js`, as the gateway does before its first call: once for each content, then from the cache. */
export async function checkSchema(schemas: Schemas, extensionPath: string, signal: AbortSignal): Promise<SchemaReport> {
  const file = joinPath(extensionPath, "dist", "extension.js");
  const none = { differences: 0, load_bearing: [] };
  if (extensionPath === "" || !(await isThere(file))) return { verdict: "not_found", ...none };
  try {
    const { verdict, differences } = (await schemas.read(file, signal)).reconciliation;
    const bearing = differences.filter((difference) => difference.loadBearing).map(({ where }) => where);
    return { verdict, differences: differences.length, load_bearing: bearing.slice(0, 10) };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { verdict: "unreadable", ...none, why: error.message };
  }
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    (info) => info.isFile(),
    () => false, // not there, or inside a sandbox
  );
}
