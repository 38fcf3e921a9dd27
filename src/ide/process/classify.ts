import type { IdeVariant } from "../../language-server/transport/endpoint.ts";
import type { CommandLine } from "../host/host.ts";
import { type Flags, lastFlag, parseFlags } from "./command-line.ts";

/** The verdict on a command line: a language server of a known product, or the reason why not. */
export type Classification =
  | { readonly kind: "server"; readonly variant: IdeVariant; readonly rule: string; readonly flags: Flags }
  | { readonly kind: "other"; readonly rule: string; readonly why: string };

const serverName = /^language[_-]server(?:[_-][a-z0-9_-]+)?(?:\.exe)?$/i;
const antigravityCli = /^(?:agy|antigravity-cli)(?:\.exe)?$/i;
const extensionFolder = /\/extensions\/(?:windsurf|antigravity)\/bin\/[^/]+$/i;

/** Flags that only these servers take; two of them make a server of a binary with any name. */
const serverFlags = [
  "extension_server_port",
  "parent_pipe_path",
  "random_port",
  "server_port",
  "https_server_port",
  "http_server_port",
  "workspace_id",
  "codeium_dir",
  "database_dir",
  "app_data_dir",
  "api_server_url",
  "cloud_code_endpoint",
  "stdin_initial_metadata",
];

/** Words that make a process worth a closer look; cheap, and deliberately too wide. */
const mentions =
  /language_server|^(?:\S*[\\/])?language-server[\w-]*(?:\.exe)?$|^-{1,2}(?:ide_name|app_data_dir|override_ide_name)(?:=|$)|^(?:\S*[\\/])?(?:agy|antigravity-cli)(?:\.exe)?$/i;

/** Whether a process is worth a line in the decision trace: it is a server, or something that mentions one. */
export function looksLikeServer(command: CommandLine): boolean {
  return mentions.test(command.program) || command.args.some((arg) => arg.length < 4096 && mentions.test(arg));
}

/**
 * Decides whether a command line is a product's language server, first by flags and then by path; a binary's name alone decides
 * nothing. Antigravity's flags win over all other signs, because mistaking it for another product would send it prompts.
 * Source: docs/dev/wire/processes.md, "Telling products apart".
 */
export function classify(command: CommandLine): Classification {
  const path = command.program.replaceAll("\\", "/");
  const name = path.slice(path.lastIndexOf("/") + 1);
  const flags = parseFlags(command.args);
  const marks = serverFlags.filter((flag) => flags.has(flag)).length;
  const isCli = antigravityCli.test(name);
  if (!serverName.test(name) && !isCli && !extensionFolder.test(path) && marks < 2) {
    return { kind: "other", rule: "not-a-server", why: "mentions a language server, but is not one" };
  }
  if (flags.has("help") || flags.has("version") || flags.has("stamp")) {
    return { kind: "other", rule: "not-a-server", why: "only prints something and ends" };
  }
  const appData = lastFlag(flags, "app_data_dir") ?? "";
  const override = lastFlag(flags, "override_ide_name");
  const ideName = lastFlag(flags, "ide_name");
  const server = (variant: IdeVariant, rule: string): Classification => ({ kind: "server", variant, rule, flags });

  if (/^antigravity(?:-|$)/i.test(appData)) return server("antigravity", "app-data-dir");
  if (override === "antigravity") return server("antigravity", "override-ide-name");
  if (ideName === "antigravity" || isCli) return server("antigravity", isCli ? "program-name" : "ide-name");
  if (ideName === "windsurf" || ideName === "windsurf-next") return server(ideName, "ide-name");
  if (ideName !== undefined) {
    return { kind: "other", rule: "ide-name", why: `belongs to another IDE (${printable(ideName)})` };
  }
  const byPath = variantOfPath(path, lastFlag(flags, "codeium_dir")?.replaceAll("\\", "/") ?? "");
  if (byPath !== undefined) return server(byPath, "path");
  return {
    kind: "other",
    rule: "no-marker",
    why: "an older Codeium extension or another editor: no IDE name, no known path",
  };
}

/** A folder of the Next product, under either name; a second copy of a bundle gets a number (`Windsurf 2.app`). */
const nextFolder =
  /\/windsurf(?: - |-| )?next(?: \d+)?(?:\.app)?\/|\/devin(?:-desktop)?(?: - |-| )?next(?: \d+)?(?:\.app)?\/|\/\.(?:windsurf|devin)-next-server\//i;
/** A folder of the product. Devin is a first name too, so a home folder `/home/devin/` must not match. */
const productFolder =
  /\/windsurf(?: \d+)?(?:\.app)?\/|\/devin(?: \d+)?(?:\.app\/|\/resources\/)|\/devin-desktop\/|\/\.(?:windsurf|devin)-server\//i;

function variantOfPath(path: string, codeiumDir: string): IdeVariant | undefined {
  const ownFolder = /\/extensions\/(windsurf|antigravity)\//i.exec(path)?.[1]?.toLowerCase();
  if (ownFolder === "antigravity") return "antigravity";
  if (nextFolder.test(path)) return "windsurf-next";
  if (/(?:^|\/)windsurf-next\/?$/i.test(codeiumDir)) return "windsurf-next";
  if (ownFolder === "windsurf") return "windsurf";
  if (/\/\.?antigravity(?:[- ]ide)?(?:-server)?(?:\.app)?\//i.test(path)) return "antigravity";
  if (productFolder.test(path)) return "windsurf";
  if (/(?:^|\/)windsurf\/?$/i.test(codeiumDir)) return "windsurf";
  return undefined;
}

/** Whether a path lies in the Next product's folder, under either name. */
export function isNextFolder(path: string): boolean {
  return nextFolder.test(`${path.replaceAll("\\", "/")}/`);
}

/** Whether a server's program lies in the folder that a remote window installs on the other side. */
export function isRemoteFolder(path: string): boolean {
  return /\/\.(?:windsurf|devin)(?:-next)?-server\//i.test(path.replaceAll("\\", "/"));
}

/** A foreign word made safe for a trace: printable, and short. */
export function printable(text: string): string {
  const clean = text.replaceAll(/[^\x20-\x7e]/g, "?");
  return clean.length > 60 ? `${clean.slice(0, 60)}…` : clean;
}
