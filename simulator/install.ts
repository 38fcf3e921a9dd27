import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import type { Layout } from "./layout.ts";
import type { Profile } from "./profile.ts";
import { extensionBundle } from "./schema/bundle.ts";
import { schemaFiles, shiftedSchema } from "./schema/shift.ts";

/** The profile to unpack, and the places to unpack it to. */
interface Installation {
  readonly profile: Profile;
  readonly layout: Layout;
  readonly ideVersion: string;
  /** The Node binary that plays the language server's program. */
  readonly node: string;
  /** See `SimulatorConfig`. */
  readonly schemaSeed: number;
  /** Whether its files hide that it is a stand-in. */
  readonly unmarked?: boolean;
}

/**
 * Unpacks the product into its home as far as anybody looks: the server's program (Node under another name, so that the process
 * carries the real one's name), the extension's manifest, the folders of user data. Idempotent.
 */
export async function install(installation: Installation): Promise<void> {
  const { layout, profile } = installation;
  const folders = [
    dirname(layout.binary),
    join(layout.extension, "dist"),
    dirname(layout.stateDatabase),
    layout.cascades,
    layout.databaseFolder,
    join(layout.codeiumFolder, "memories"),
  ];
  await Promise.all(folders.map((folder) => mkdir(folder, { recursive: true })));
  await Promise.all([
    putProgram(installation.node, layout.binary),
    writeJson(join(layout.appRoot, "product.json"), {
      nameShort: profile.productFolder,
      applicationName: profile.devin?.command ?? profile.ideName,
      windsurfVersion: installation.ideVersion,
      ...(installation.unmarked !== true ? { millraceStandIn: true } : {}),
    }),
    ...(profile.family === "windsurf"
      ? [writeFile(join(layout.extension, "dist", "extension.js"), bundleOf(installation.schemaSeed))]
      : []),
    writeJson(join(layout.extension, "package.json"), {
      name: profile.family,
      publisher: profile.family === "antigravity" ? "google" : "codeium",
      version: profile.extensionVersion,
      main: "./dist/extension.js",
    }),
  ]);
}

/** The bundle whose generated code has the schema that this build speaks. */
function bundleOf(schemaSeed: number): string {
  return extensionBundle(schemaSeed === 0 ? schemaFiles() : [...shiftedSchema(schemaSeed).files]);
}

/** A symbolic link; on Windows a copy, because it starts no program through a link, and deletes no other name of a file that runs. */
async function putProgram(target: string, path: string): Promise<void> {
  const ways = process.platform === "win32" ? [copyFile] : [symlink, copyFile];
  for (const [index, way] of ways.entries()) {
    try {
      return await way(target, path);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "EEXIST") return;
      if (index === ways.length - 1) throw error;
    }
  }
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await writeFile(path, `${JSON.stringify(value, undefined, 2)}\n`);
}
