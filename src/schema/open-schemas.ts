import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createFileRegistry, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { bestEffort } from "../base/async.ts";
import { MillraceError } from "../base/errors.ts";
import { replaceFile } from "../base/node/replace-file.ts";
import { SharedCall } from "../base/shared-call.ts";
import type { SchemaProblem } from "./read-fields.ts";
import { readSchemaInWorker, type SerializedSchema } from "./read-in-worker.ts";
import { registryOf } from "./read-schema.ts";
import { type Reconciliation, reconcileSchema } from "./reconcile.ts";

/** The schema of one build, read and held against ours. */
export interface BuildSchema {
  /** SHA-256 of the bundle, hex. */
  readonly digest: string;
  readonly registry: FileRegistry;
  readonly problems: readonly SchemaProblem[];
  readonly reconciliation: Reconciliation;
}

/** Schemas of builds, by the path of their `extension.js`. */
export interface Schemas {
  /**
   * Read once per content: an unchanged bundle is not read again, also after a restart.
   *
   * @throws MillraceError `invalid_request`: no such file, or one that cannot be read as a bundle.
   */
  read(bundlePath: string, signal: AbortSignal): Promise<BuildSchema>;
}

export interface SchemasOptions {
  /** Where results are kept over restarts; nowhere if undefined. Made if it is not there. */
  readonly cacheFolder: string | undefined;
  /** Reads a bundle; by default in a new thread. */
  readonly readBundle?: (bundlePath: string, signal: AbortSignal) => Promise<SerializedSchema>;
}

/** Raised when the reader learns to read more, so that old results are read anew. */
const readerVersion = 2;

/** Opens the reader of schemas. Nothing is read until it is asked. */
export function openSchemas({ cacheFolder, readBundle = readSchemaInWorker }: SchemasOptions): Schemas {
  const known = new Map<string, { readonly stamp: string; readonly schema: BuildSchema }>();
  const running = new Map<string, SharedCall<BuildSchema>>();

  async function load(bundlePath: string, signal: AbortSignal): Promise<BuildSchema> {
    const stamp = await stampOf(bundlePath);
    const before = known.get(bundlePath);
    if (before?.stamp === stamp) return before.schema;
    const digest = await digestOf(bundlePath, signal);
    const cachePath = cacheFolder === undefined ? undefined : join(cacheFolder, `${digest}.v${readerVersion}.json`);
    const kept = cachePath === undefined ? undefined : await readCache(cachePath);
    const serialized = kept ?? (await readBundle(bundlePath, signal));
    const registry = kept?.registry ?? registryOf({ set: fromBinary(FileDescriptorSetSchema, serialized.set) });
    if (kept === undefined && cachePath !== undefined) await bestEffort(writeCache(cachePath, serialized)); // it is read again next time
    const schema = { digest, registry, problems: serialized.problems, reconciliation: reconcileSchema(registry) };
    known.set(bundlePath, { stamp, schema });
    return schema;
  }

  return {
    async read(bundlePath, signal) {
      const call = running.get(bundlePath) ?? new SharedCall<BuildSchema>();
      running.set(bundlePath, call);
      return call.join((shared) => load(bundlePath, shared), signal);
    },
  };
}

async function stampOf(path: string): Promise<string> {
  try {
    const { size, mtimeMs, ino } = await stat(path);
    return `${size} ${mtimeMs} ${ino}`;
  } catch (cause) {
    throw new MillraceError("invalid_request", `There is no extension bundle at ${path}.`, {
      hint: "Give the path of the IDE's `extension.js`; `millrace doctor` shows where the IDE is.",
      cause,
    });
  }
}

async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash, { signal });
  return hash.digest("hex");
}

async function readCache(path: string): Promise<(SerializedSchema & { readonly registry: FileRegistry }) | undefined> {
  try {
    const { set, problems } = JSON.parse(await readFile(path, "utf8")) as { set: string; problems: SchemaProblem[] };
    const bytes = Buffer.from(set, "base64");
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));
    return { set: bytes, problems: Array.isArray(problems) ? problems : [], registry };
  } catch {
    return undefined; // not there, or cut off by a crash: the bundle is read again
  }
}

/** Another process may read it at any time, and this one may die. */
async function writeCache(path: string, { set, problems }: SerializedSchema): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
  const text = JSON.stringify({ set: Buffer.from(set).toString("base64"), problems });
  await replaceFile(path, text, { draft: `${path}.${process.pid}.tmp` });
}
