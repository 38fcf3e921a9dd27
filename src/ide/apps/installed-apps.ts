import { productName } from "../../language-server/product-name.ts";
import type { CommandLine, Host } from "../host/host.ts";
import type { InstalledApp } from "../ide.ts";
import { readProduct } from "../process/build.ts";
import { isNextFolder } from "../process/classify.ts";
import { joinPath } from "./layouts.ts";

/** Names of the app's folders and bundles, under both names: `Devin`, `Devin - Next`, `devin-desktop`, `Windsurf 2`. */
const appName = /^(?:devin|windsurf)(?:-desktop)?(?:(?: - |-| )?next)?(?: \d{1,3})?(?:\.app)?$/i;
/** The names of the apps' programs, as a regular expression for any case of letters that other engines read too. */
export const appPrograms = String.raw`(?:devin|windsurf)(?:-desktop)?(?:(?: - |-| )?next)?(?:\.exe)?`;
/** macOS shows a command line without quotes, so the agent's subcommand looks like a part of its name. */
const program = new RegExp(String.raw`(?:^|[\\/])${appPrograms}(?: acp)?$`, "i");
const maxApps = 16;

/** Where apps may be installed. */
export interface AppPlaces {
  readonly platform: Host["platform"];
  readonly homes: readonly string[];
  /** Look below the homes only. */
  readonly onlyHomes: boolean;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/** Folders that hold apps, each by its own name. Source: docs/dev/wire/devin-desktop.md, "Installed forms". */
export function appFolders({ platform, homes, onlyHomes, variables }: AppPlaces): readonly string[] {
  const system = (...folders: readonly (string | undefined)[]) =>
    onlyHomes ? [] : folders.filter((folder) => folder !== undefined && folder !== "").map(String);
  switch (platform) {
    case "darwin":
      return [...system("/Applications"), ...homes.map((home) => joinPath(home, "Applications"))];
    case "windows":
      return [
        ...new Set([
          ...system(programsOf(variables["LOCALAPPDATA"]), variables["ProgramFiles"]),
          ...homes.map((home) => joinPath(home, "AppData", "Local", "Programs")),
        ]),
      ];
    case "linux":
      return [
        ...system("/usr/share", "/opt"),
        ...homes.flatMap((home) => [
          joinPath(home, "apps"),
          joinPath(home, "Applications"),
          joinPath(home, ".local", "share"),
        ]),
      ];
    default:
      return platform satisfies never;
  }
}

function programsOf(localAppData: string | undefined): string | undefined {
  return localAppData === undefined || localAppData === "" ? undefined : joinPath(localAppData, "Programs");
}

/** The `resources/app` of an app's folder. */
function rootIn(platform: Host["platform"], folder: string): string {
  return platform === "darwin"
    ? joinPath(folder, "Contents", "Resources", "app")
    : joinPath(folder, "resources", "app");
}

/** Whether a process may be the app itself or its agent, and not one of the app's many helpers. */
export function looksLikeApp({ program: name, args }: CommandLine): boolean {
  return program.test(name) && !args.some((arg) => arg.startsWith("--type="));
}

/** The `resources/app` that a running program belongs to: the app, its language server or its agent; undefined for any other path. */
export function appRootOf(path: string): string | undefined {
  const inside = /^(.+)[\\/]extensions[\\/]windsurf[\\/](?:devin[\\/])?bin[\\/][^\\/]+$/i.exec(path)?.[1];
  if (inside !== undefined) return inside;
  const bundle = /^(.+\.app[\\/]Contents)[\\/]MacOS[\\/][^\\/]+$/i.exec(path)?.[1];
  if (bundle !== undefined) return joinPath(bundle, "Resources", "app");
  const folder = /^(.+)[\\/][^\\/]+$/.exec(path)?.[1];
  return folder === undefined || !program.test(path) ? undefined : joinPath(folder, "resources", "app");
}

/**
 * The apps in these places and those that run, each once. An app is a folder with a `product.json`; no program is run.
 * `running` holds the paths of this user's programs.
 */
export async function findApps(
  host: Host,
  places: AppPlaces,
  running: readonly string[],
  signal: AbortSignal,
): Promise<readonly InstalledApp[]> {
  const lists = await Promise.all(
    appFolders(places).map(async (folder) => {
      const names = await host.listFolder(folder, signal);
      return names.filter((name) => appName.test(name)).map((name) => rootIn(places.platform, joinPath(folder, name)));
    }),
  );
  const runningRoots = new Set(running.flatMap((path) => appRootOf(path) ?? []));
  const roots = [...new Set([...runningRoots, ...lists.flat()])].slice(0, maxApps);
  const apps = await Promise.all(roots.map((root) => describeApp(host, root, runningRoots.has(root), signal)));
  return apps.filter((app) => app !== undefined);
}

async function describeApp(
  host: Host,
  appRoot: string,
  running: boolean,
  signal: AbortSignal,
): Promise<InstalledApp | undefined> {
  const product = await readProduct(host, appRoot, signal);
  if (product === undefined) return undefined;
  const version = product.version ?? "";
  const variant = isNextFolder(appRoot) || /\bnext\b/i.test(product.name) ? "windsurf-next" : "windsurf";
  return {
    variant,
    product: productName(variant, version),
    version,
    appRoot,
    running,
    ...(product.standIn ? { standIn: true } : {}),
  };
}
