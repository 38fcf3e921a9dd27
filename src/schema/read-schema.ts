import { createFileRegistry, type FileRegistry } from "@bufbuild/protobuf";
import { MillraceError } from "../base/errors.ts";
import { assembleSchema, type ReadSchema } from "./assemble.ts";
import { parseBundle } from "./bundle-parser.ts";

/** Bundles of real builds are 10 MB; a far larger file is no bundle. In UTF-16 units. */
const longestBundle = 64 * 1024 * 1024;

/**
 * The protobuf schema that an IDE's `extension.js` holds.
 *
 * @throws MillraceError `invalid_request`: not JavaScript (cut off, most of the time), no protobuf in it, or a schema that
 * contradicts itself.
 * Source: docs/dev/wire/extension-bundle.md.
 */
export function readSchema(source: string): ReadSchema {
  const schema = readDescriptors(source);
  registryOf(schema);
  return schema;
}

/**
 * The same, without holding the types against each other: `registryOf` does that.
 *
 * @throws MillraceError `invalid_request`: not JavaScript, or no protobuf in it.
 */
export function readDescriptors(source: string): ReadSchema {
  if (source.length > longestBundle) throw unreadable("it is larger than 64 MB");
  const schema = assembleSchema(parse(source));
  const types = schema.set.file.filter((file) => !file.package.startsWith("google.protobuf"));
  if (types.length === 0) throw unreadable("there are no protobuf messages in it");
  return schema;
}

/** The schema as descriptors to work with. @throws MillraceError `invalid_request` where it contradicts itself. */
export function registryOf(schema: Pick<ReadSchema, "set">): FileRegistry {
  try {
    return createFileRegistry(schema.set);
  } catch (cause) {
    throw unreadable(`its types contradict each other (${cause instanceof Error ? cause.message : "unknown"})`, cause);
  }
}

function parse(source: string) {
  try {
    return parseBundle(source);
  } catch (cause) {
    if (cause instanceof RangeError || (cause instanceof SyntaxError && /stack space/.test(cause.message))) {
      throw unreadable("its code is nested too deeply", cause);
    }
    if (cause instanceof SyntaxError) throw unreadable(`it is not JavaScript: ${cause.message}`, cause);
    throw cause;
  }
}

function unreadable(why: string, cause?: unknown): MillraceError {
  return new MillraceError("invalid_request", `The extension's bundle cannot be read: ${why}.`, {
    hint: "Check that the file is the whole `extension.js` of the IDE; an update may be under way.",
    cause,
  });
}
