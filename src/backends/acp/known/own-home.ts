import { randomBytes } from "node:crypto";
import { copyFile, lstat, mkdir, readlink, stat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { remove } from "../../../base/node/move-file.ts";
import { replaceFile } from "../../../base/node/replace-file.ts";
import { workingFolder } from "./agent-spec.ts";
import type { KnownAgent } from "./known-agent.ts";
import { Owner, type Variables } from "./owner.ts";

/** Variables of the known agents, and those that lead to a person's files. */
const ownVariables = /^(?:CLAUDE|CODEX|GEMINI|QWEN|OPENCODE)_|^XDG_(?:CONFIG|DATA|STATE|CACHE)_HOME$/i;

/** Sign-ins of clouds and of the system that agents use beside their own. */
const commonSignIn = [".aws", ".azure", ".config/gcloud", "Library/Keychains"];

/** Where the programs that start other ones (`npx`, `volta`, `mise`) have their files, below the home. */
const launcherFolders: Variables = {
  NPM_CONFIG_CACHE: ".npm",
  NPM_CONFIG_USERCONFIG: ".npmrc",
  BUN_INSTALL: ".bun",
  VOLTA_HOME: ".volta",
  ASDF_DATA_DIR: ".asdf",
  MISE_CONFIG_DIR: ".config/mise",
  MISE_DATA_DIR: ".local/share/mise",
  MISE_STATE_DIR: ".local/state/mise",
};

/** Variables without those that bring an agent settings of its owner. */
function kept(variables: Variables, keeps: RegExp): Variables {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !ownVariables.test(name) || keeps.test(name)));
}

/** Variables that name a model's server, its key, a proxy or a certificate. */
const ofModels =
  /^(?:ANTHROPIC|OPENAI|GOOGLE|GCLOUD|CLOUD_ML|VERTEX|AWS|AZURE)_|_(?:KEY|TOKEN|BASE_URL)$|^(?:https?|no|all)_proxy$|^(?:NODE_EXTRA_CA_CERTS|SSL_CERT_FILE)$/i;

/** The variables of an owner's files that name his sign-in and his models. Others could start programs (NODE_OPTIONS, BASH_ENV). */
export function signInOnly(variables: Variables, keeps: RegExp): Variables {
  return Object.fromEntries(
    Object.entries(kept(variables, keeps)).filter(
      ([name, value]) => (keeps.test(name) || ofModels.test(name)) && typeof value === "string",
    ),
  );
}

/** A name for our MCP server that nobody can know before. */
export function newServerName(): string {
  return `mill${randomBytes(4).toString("hex")}`;
}

/**
 * Makes the agent's own home in this folder. Resolves with its arguments and its whole environment.
 *
 * @throws MillraceError `invalid_request` where its owner's settings cannot be read.
 */
export async function makeOwnHome(
  known: KnownAgent,
  variables: Variables,
  { home, server }: { readonly home: string; readonly server: string },
): Promise<{ readonly args: readonly string[]; readonly environment: Variables }> {
  const owner = new Owner(variables);
  const { files: settings, environment, args = [] } = await known.launch(owner, home, server);
  // agents look for notes, rules and settings in each folder up to a project's root: this file makes one, which git takes for no repository
  const files = { [`../${workingFolder}/.git`]: "", ...settings };
  await mkdir(home, { recursive: true, mode: 0o700 });
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(home, path)), { recursive: true, mode: 0o700 });
    await replaceFile(join(home, path), content);
  }
  for (const path of [...commonSignIn, ...known.signIn]) await link(owner.path(path), join(home, path));
  const launchers = Object.entries(launcherFolders).map(([name, folder]) => [name, join(owner.home, folder)] as const);
  const homes = { HOME: home, USERPROFILE: home };
  return {
    args,
    environment: { ...Object.fromEntries(launchers), ...kept(variables, known.keeps), ...homes, ...environment },
  };
}

/** A file that the agent has put in the place of the link stays, unless its owner has a newer one. */
async function link(from: string, to: string): Promise<void> {
  const target = await stat(from).catch(() => undefined); // not there
  const there = await lstat(to).catch(() => undefined);
  if (there?.isSymbolicLink() === true) {
    if (target !== undefined && (await readlink(to)) === from) return;
  } else if (there !== undefined && there.mtimeMs >= (target?.mtimeMs ?? 0)) return;
  await remove(to, { recursive: there?.isDirectory() === true });
  if (target === undefined) return;
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await symlink(from, to, target.isDirectory() ? "junction" : "file").catch(async (error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return; // another start made it
    if (target.isFile()) await copyFile(from, to); // Windows lets few users link a file
  });
}
