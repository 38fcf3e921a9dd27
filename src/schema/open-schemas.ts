import { readFile, stat } from "node:fs/promises";
import { MillraceError } from "../base/errors.ts";
import { SharedCall } from "../base/shared-call.ts";
import { unreadable } from "./build-types.ts";
import { type Reconciliation, reconcileSchema } from "./reconcile.ts";

/** Schemas of builds, held against ours, by the path of their `extension.js`. */
export interface Schemas {
  /**
   * An unchanged bundle is read once.
   *
   * @throws MillraceError `invalid_request`: no such file, or one that cannot be read as a bundle.
   */
  read(bundlePath: string, signal: AbortSignal): Promise<Reconciliation>;
}

/** Bundles of real builds are 10 MB; a far larger file is no bundle. */
const longestBundle = 64 * 1024 * 1024;

/** Opens the reader of schemas. Nothing is read until it is asked. */
export function openSchemas(): Schemas {
  const known = new Map<string, { readonly stamp: string; readonly schema: Reconciliation }>();
  const running = new Map<string, SharedCall<Reconciliation>>();

  async function load(bundlePath: string, signal: AbortSignal): Promise<Reconciliation> {
    const stamp = await stampOf(bundlePath);
    const before = known.get(bundlePath);
    if (before?.stamp === stamp) return before.schema;
    const bytes = await readFile(bundlePath, { signal });
    const { readBundle } = await import("./read-bundle.ts"); // it brings the parser
    const schema = reconcileSchema(await readBundle(bytes.toString("latin1"))); // all names are ASCII
    known.set(bundlePath, { stamp, schema });
    return schema;
  }

  return {
    async read(bundlePath, signal) {
      const call = running.get(bundlePath) ?? new SharedCall<Reconciliation>();
      running.set(bundlePath, call);
      return call.join((shared) => load(bundlePath, shared), signal);
    },
  };
}

async function stampOf(path: string): Promise<string> {
  const info = await stat(path).catch((cause: unknown) => {
    throw new MillraceError("invalid_request", `There is no extension bundle at ${path}.`, {
      hint: "Give the path of the IDE's `extension.js`; `millrace doctor` shows where the IDE is.",
      cause,
    });
  });
  if (info.size > longestBundle) throw unreadable("it is larger than 64 MB");
  return `${info.size} ${info.mtimeMs} ${info.ino}`;
}
