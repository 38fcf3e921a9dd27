import { z } from "zod";
import { extensionFolderOf, joinPath } from "../apps/layouts.ts";
import type { Host, ServerEnvironment } from "../host/host.ts";
import { type Flags, lastFlag } from "./command-line.ts";

/** Which build of the IDE a server belongs to. Both versions are "" when nothing says them. */
export interface Build {
  readonly ideVersion: string;
  readonly extensionVersion: string;
  readonly extensionPath: string;
}

/** How a server was started. */
interface ServerCommand {
  readonly program: string;
  readonly flags: Flags;
  readonly environment: ServerEnvironment | undefined;
}

const manifest = z.object({ version: z.string() });
const product = z.object({
  windsurfVersion: z.string().optional(),
  ideVersion: z.string().optional(),
  nameShort: z.string().optional(),
  millraceStandIn: z.boolean().optional(),
});
const maxManifestBytes = 4 * 1024 * 1024;
const sane = /^[\w.+-]{1,64}$/;

/** The build, as the server reports it, else as its installation does. Source: docs/dev/wire/processes.md, "Programs and folders", "Arguments". */
export async function buildOfServer(
  host: Host,
  { program, flags, environment }: ServerCommand,
  signal: AbortSignal,
): Promise<Build> {
  const extensionPath = extensionFolderOf(program);
  const said = lastFlag(flags, "windsurf_version") ?? lastFlag(flags, "override_ide_version") ?? "";
  const extensionVersion = extensionPath === "" ? undefined : await readExtensionVersion(host, extensionPath, signal);
  const root =
    environment?.get("CODEIUM_EDITOR_APP_ROOT") || (extensionPath === "" ? "" : joinPath(extensionPath, "..", ".."));
  const ideVersion = sane.test(said)
    ? said
    : ((root === "" ? undefined : await readProduct(host, root, signal))?.version ?? "");
  return { ideVersion, extensionVersion: extensionVersion ?? ideVersion, extensionPath };
}

async function readExtensionVersion(host: Host, folder: string, signal: AbortSignal): Promise<string | undefined> {
  const parsed = manifest.safeParse(
    parseJson(await host.readText(joinPath(folder, "package.json"), maxManifestBytes, signal)),
  );
  return parsed.success && sane.test(parsed.data.version) ? parsed.data.version : undefined;
}

/** The contents of an app's `product.json`; undefined without one. `appRoot` is its `resources/app`. */
export async function readProduct(
  host: Host,
  appRoot: string,
  signal: AbortSignal,
): Promise<{ readonly version: string | undefined; readonly name: string; readonly standIn: boolean } | undefined> {
  const text = await host.readText(joinPath(appRoot, "product.json"), maxManifestBytes, signal);
  if (text === undefined) return undefined;
  const parsed = product.safeParse(parseJson(text));
  const version = parsed.data?.windsurfVersion ?? parsed.data?.ideVersion;
  return {
    version: version !== undefined && sane.test(version) ? version : undefined,
    name: parsed.data?.nameShort ?? "",
    standIn: parsed.data?.millraceStandIn === true,
  };
}

function parseJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // an installation we cannot read says nothing about its version
  }
}
