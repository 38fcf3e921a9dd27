import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Layout } from "./layout.ts";
import type { Profile } from "./profile.ts";

/** What to unpack and where. */
export interface Installation {
  readonly profile: Profile;
  readonly layout: Layout;
  readonly ideVersion: string;
  /** The Node binary that plays the language server's program. */
  readonly node: string;
}

/**
 * Unpacks the product into its home as far as anybody looks: the server's program (a link to Node, so that the process
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
    link(installation.node, layout.binary),
    writeJson(join(layout.appRoot, "product.json"), {
      nameShort: profile.appFolder,
      applicationName: profile.ideName,
      windsurfVersion: installation.ideVersion,
    }),
    writeJson(join(layout.extension, "package.json"), {
      name: profile.extensionFolder,
      publisher: profile.family === "antigravity" ? "google" : "codeium",
      version: profile.extensionVersion,
      main: "./dist/extension.js",
    }),
  ]);
}

/** A symbolic link, or a copy where the system allows no links. */
async function link(target: string, path: string): Promise<void> {
  try {
    await symlink(target, path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST") return;
    if (code !== "EPERM") throw error;
    await copyFile(target, path);
  }
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await writeFile(path, `${JSON.stringify(value, undefined, 2)}\n`);
}
