import { join, posix, win32 } from "node:path";
import type { Profile } from "./profile.ts";

export type Platform = "linux" | "darwin" | "win32";
export type Arch = "x64" | "arm64";

/** Where everything of one IDE lies below its user's home folder. All paths absolute. */
export interface Layout {
  /** `resources/app` of the product. */
  readonly appRoot: string;
  readonly extension: string;
  /** The language server's program. */
  readonly binary: string;
  readonly userData: string;
  readonly stateDatabase: string;
  /** One file per conversation. */
  readonly cascades: string;
  readonly codeiumFolder: string;
  readonly databaseFolder: string;
  /** The `devin` program inside the app; undefined where the product has none. */
  readonly agent: string | undefined;
  /** Where the `devin` program lies when the CLI is installed on its own. */
  readonly cli: string;
  /** The CLI's own data: credentials, sessions, logs. */
  readonly cliData: string;
  /** The data folder that the product had under its old name. */
  readonly oldStateDatabase: string;
  readonly logs: string;
}

/**
 * The product is unpacked below the home, not installed.
 * Source: docs/dev/wire/processes.md, "Programs and folders", "State database", "Conversation folders".
 */
export function layoutOf(profile: Profile, home: string, platform: Platform, arch: Arch): Layout {
  const folder = (platform === "linux" ? profile.devin?.command : undefined) ?? profile.productFolder;
  const appRoot =
    platform === "darwin"
      ? join(home, "Applications", `${folder}.app`, "Contents", "Resources", "app")
      : join(home, platform === "win32" ? "AppData/Local/Programs" : "apps", folder, "resources", "app");
  const extension = join(appRoot, "extensions", profile.family);
  const userData = join(home, userDataParent[platform], profile.productFolder);
  const codeiumFolder = join(home, profile.codeiumFolder);
  const program = platform === "win32" ? "devin.exe" : "devin";
  return {
    appRoot,
    extension,
    binary: join(extension, "bin", binaryName(platform, arch)),
    userData,
    stateDatabase: join(userData, "User", "globalStorage", "state.vscdb"),
    cascades: join(codeiumFolder, profile.family === "antigravity" ? "conversations" : "cascade"),
    codeiumFolder,
    databaseFolder: join(codeiumFolder, "database", "9c0694567290725d9dcba14ade58e297"),
    agent: profile.devin?.editor === true ? join(extension, "devin", "bin", program) : undefined,
    cli: join(home, platform === "win32" ? "AppData/Local/devin/bin" : ".local/bin", program),
    cliData: join(home, platform === "win32" ? "AppData/Roaming" : ".local/share", "devin"),
    oldStateDatabase: join(
      home,
      userDataParent[platform],
      profile.productFolder.replace("Devin", "Windsurf"),
      "User",
      "globalStorage",
      "state.vscdb",
    ),
    logs: join(userData, "logs"),
  };
}

const userDataParent = {
  linux: ".config",
  darwin: "Library/Application Support",
  win32: "AppData/Roaming",
} as const;

function binaryName(platform: Platform, arch: Arch): string {
  if (platform === "win32") return "language_server_windows_x64.exe";
  const system = platform === "darwin" ? "macos" : "linux";
  return `language_server_${system}_${arch === "arm64" ? "arm" : "x64"}`;
}

/** `file_home_user_project`: the folder's URI with its separators replaced. */
export function workspaceId(workspace: string): string {
  const path = workspace.includes("\\") ? workspace.split(win32.sep) : workspace.split(posix.sep);
  return `file_${path
    .filter((part) => part !== "")
    .join("_")
    .replaceAll(/[^A-Za-z0-9_]/g, "_")}`;
}
