import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CascadeId } from "../../base/ids.ts";
import { remove } from "../../base/node/move-file.ts";
import { promptedVariants } from "../../language-server/transport/endpoint.ts";

/** The file in which an IDE keeps one conversation. */
export interface CascadeFile {
  readonly cascadeId: CascadeId;
  readonly path: string;
  readonly bytes: number;
  readonly modifiedAtMs: number;
}

const fileName = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.pb$/i;

/**
 * Where Windsurf and Windsurf Next keep their conversations in a home.
 * Source: docs/dev/wire/processes.md, "Conversation folders".
 */
export function codeiumFoldersIn(home: string): readonly string[] {
  return promptedVariants.map((name) => join(home, ".codeium", name));
}

/** The conversations in `<codeium folder>/cascade`; none if there is no such folder. */
export async function listCascadeFiles(codeiumFolder: string): Promise<readonly CascadeFile[]> {
  const folder = join(codeiumFolder, "cascade");
  let names: readonly string[];
  try {
    names = await readdir(folder);
  } catch {
    return []; // this IDE has not been used in this home
  }
  const files: CascadeFile[] = [];
  for (const name of names) {
    const id = fileName.exec(name)?.[1];
    if (id === undefined) continue;
    const path = join(folder, name);
    try {
      const { size, mtimeMs } = await stat(path);
      files.push({ cascadeId: id as CascadeId, path, bytes: size, modifiedAtMs: mtimeMs }); // a file is named by its cascade id
    } catch {
      // deleted meanwhile
    }
  }
  return files;
}

/** Deletes the file; nothing happens if it is gone already. Throws the file system's errors. */
export async function removeCascadeFile(file: CascadeFile): Promise<void> {
  await remove(file.path);
}
