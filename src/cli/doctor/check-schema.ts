import { readFile, stat } from "node:fs/promises";
import { isMillraceError } from "../../base/errors.ts";
import { joinPath } from "../../ide/layouts.ts";
import { readSchema, registryOf } from "../../schema/read-schema.ts";
import { reconcile } from "../../schema/reconcile.ts";

/** How the schema of an IDE's build stands to ours. */
export interface SchemaReport {
  /** `same`: nothing moved. `moved`: some fields have other numbers. `broken`: something is missing that nothing works without. */
  readonly verdict: "same" | "moved" | "broken" | "unreadable" | "not_found";
  readonly differences: number;
  /** What is missing or changed that Millrace does not work without; at most ten names. */
  readonly load_bearing: readonly string[];
  readonly why?: string;
}

const maxBytes = 64 * 1024 * 1024;

/** Reads the build's own `extension.js`, up to two seconds of work for a large one. */
export async function checkSchema(extensionPath: string): Promise<SchemaReport> {
  const file = joinPath(extensionPath, "dist", "extension.js");
  const none = { differences: 0, load_bearing: [] };
  if (extensionPath === "" || !(await isReadable(file))) return { verdict: "not_found", ...none };
  try {
    const { verdict, differences } = reconcile(registryOf(readSchema(await readFile(file, "utf8"))));
    const bearing = differences.filter((difference) => difference.loadBearing).map(({ where }) => where);
    return { verdict, differences: differences.length, load_bearing: bearing.slice(0, 10) };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { verdict: "unreadable", ...none, why: error.message };
  }
}

async function isReadable(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isFile() && info.size <= maxBytes,
    () => false, // not there, or inside a sandbox
  );
}
