import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "jsonc-parser";
import { isObject } from "../../base/json.ts";
import { isExempt, isProxy, loopbackExemption } from "../../base/node/loopback.ts";
import { type Client, inFile, type Machine, none, npm, put, smallNote, type Target } from "./client.ts";

/**
 * Variables that lead Claude Code's requests to another host or cloud, or give them another key or other headers. Settings win over the
 * environment, and an empty value counts as none. Source: docs/dev/wire/clients.md, "Configurations that lead elsewhere".
 */
const elsewhere = [
  ..."ANTHROPIC_AUTH_TOKEN ANTHROPIC_API_KEY ANTHROPIC_UNIX_SOCKET ANTHROPIC_CUSTOM_HEADERS CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_API_BASE_URL".split(
    " ",
  ),
  ..."BEDROCK VERTEX FOUNDRY MANTLE GATEWAY ANTHROPIC_AWS ANTHROPIC_GOOGLE_CLOUD"
    .split(" ")
    .map((cloud) => `CLAUDE_CODE_USE_${cloud}`),
];
const emptied = Object.fromEntries(elsewhere.map((name) => [name, ""]));
/** What a user calls a family in Claude Code (`/model opus`, a sub-agent's `model: opus`), as its variable has it, and as the account's models begin. */
const families = ["OPUS", "SONNET", "HAIKU", "FABLE"] as const;
/** Variables that take one model for all: a sub-agent could no longer name its own. */
const oneForAll = ["CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL_FORCE"];

/**
 * Claude Code: its settings name a command that prints the key, so that its files do not hold the key. `run` passes the same as settings of
 * the command line, which win over those of the user and the project.
 */
export const claudeCode: Client = {
  name: "claude-code",
  aliases: ["claude", "claudecode", "cc"],
  title: "Claude Code",
  programs: ["claude"],
  install: npm("@anthropic-ai/claude-code"),
  refused: /^--(?:settings|managed-settings)(?:=|$)/, // of two the last one counts
  edits: (target, { command }, machine) => {
    const env = (set: Readonly<Record<string, string>>, isAlways: (name: string) => boolean) =>
      Object.entries(set).map(([name, value]) => put(`env.${name}`, value, isAlways(name) ? {} : { ifThere: true }));
    return [
      inFile(
        settingsFile(machine),
        put("apiKeyHelper", `${command} --at ${target.url}`),
        ...env({ ...variables(target), ...ownExemption(machine) }, () => true),
        ...env(emptied, (name) => machine.env[name] !== undefined), // settings win over the shell's variables
        ...env(others(target), () => false),
        put("model", vendorSpelling(target.model), { ifThere: true }),
      ),
    ];
  },
  notes: (target) => [
    "Every session of Claude Code now uses the gateway. `millrace setup claude-code --undo` restores the earlier settings.",
    "A project whose own .claude/settings.json names another host or a proxy gets no key; `millrace run claude-code` asks the gateway there, too.",
    ...smallNote(target),
  ],
  launch(target, { command }, machine) {
    const own = { ...variables(target), ...loopbackExemption(machine.env) };
    const settings = {
      apiKeyHelper: command,
      model: vendorSpelling(target.model),
      env: { ...emptied, ...others(target), ...own },
    };
    // the key is in no argument: other users can read those
    return { args: ["--settings", JSON.stringify(settings)], env: { ...none(elsewhere), ...own } };
  },
  // source: code.claude.com/docs, "Settings"
  managed: {
    settings: [
      ...["ANTHROPIC_BASE_URL", ...elsewhere].map((name) => `env.${name}`),
      ..."apiKeyHelper forceLoginMethod forceLoginOrgUUID".split(" "),
    ],
    paths: {
      linux: ["etc/claude-code/managed-settings.json", "etc/claude-code/managed-settings.d"],
      darwin: [
        "Library/Application Support/ClaudeCode/managed-settings.json",
        "Library/Application Support/ClaudeCode/managed-settings.d",
        "Library/Managed Preferences/com.anthropic.claudecode.plist",
      ],
      win32: ["C:\\Program Files\\ClaudeCode", "C:\\ProgramData\\ClaudeCode"],
    },
  },
};

/** Each family is the account's newest model of it; background work gets the model that costs nothing. */
function variables({ url, model, small, newest }: Target): Record<string, string> {
  const ofFamilies = families.flatMap((family) => {
    const id = newest[`claude-${family.toLowerCase()}`] ?? (family === "HAIKU" ? small : undefined);
    return id === undefined ? [] : [[familyVariable(family), vendorSpelling(id)]];
  });
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_MODEL: vendorSpelling(model),
    ANTHROPIC_SMALL_FAST_MODEL: vendorSpelling(small),
    ...Object.fromEntries(ofFamilies),
  };
}

/** What the user may have for another host: the chosen model in its place, and no model for all sub-agents. */
function others(target: Target): Record<string, string> {
  const own = variables(target);
  const names = [...families.map(familyVariable), "ANTHROPIC_DEFAULT_MODEL"].filter((name) => own[name] === undefined);
  return Object.fromEntries([
    ...names.map((name) => [name, vendorSpelling(target.model)]),
    ...oneForAll.map((name) => [name, ""]),
  ]);
}

function familyVariable(family: string): string {
  return `ANTHROPIC_DEFAULT_${family}_MODEL`;
}

/** A Claude model as its vendor writes it: `claude-sonnet-4.6` is `claude-sonnet-4-6`. Clients of the vendor take other spellings for retired models. */
export function vendorSpelling(model: string): string {
  return model.startsWith("claude-") ? model.replaceAll(/(\d)\.(?=\d)/g, "$1-") : model;
}

/**
 * What leads Claude Code, started in this folder, to another server than `url`, or there through a proxy: a variable, or a project's settings
 * file. It asks for the key before it applies the project's settings, so those are read here. Undefined: nothing.
 */
export function claudeElsewhere(
  url: string,
  { folder, ...machine }: Pick<Machine, "env" | "homeFolder"> & { readonly folder: string },
): string | undefined {
  const env = { ...machine.env, ...envIn(settingsFile(machine)) };
  const own = leadsElsewhere(url, env);
  if (own !== undefined) return own;
  for (let at = folder; ; at = dirname(at)) {
    let whole: Readonly<Record<string, unknown>> = env;
    for (const name of ["settings.json", "settings.local.json"]) {
      const file = join(at, ".claude", name);
      whole = { ...whole, ...envIn(file) };
      if (leadsElsewhere(url, whole) !== undefined) return file;
    }
    if (dirname(at) === at) return undefined;
  }
}

/** The variable that does. */
function leadsElsewhere(url: string, env: Readonly<Record<string, unknown>>): string | undefined {
  return Object.entries(env).find(
    ([name, value]) =>
      (name === "ANTHROPIC_BASE_URL" && value !== undefined && value !== url) ||
      (/^(?:CLAUDE_CODE_(?:USE_[A-Z_]+|API_BASE_URL)|ANTHROPIC_UNIX_SOCKET)$/.test(name) && value && value !== "0") ||
      (isProxy([name, value]) && !isExempt(new URL(url), env)),
  )?.[0];
}

/** The variables that a settings file sets. */
function envIn(file: string): Readonly<Record<string, unknown>> {
  const content: unknown = existsSync(file) ? parse(readFileSync(file, "utf8")) : undefined;
  const env = isObject(content) ? content["env"] : undefined;
  return isObject(env) ? env : {};
}

/** What keeps requests to the gateway, and the key, from a proxy that the user's own settings name: the shell's `NO_PROXY` may lack it. */
function ownExemption(machine: Machine): Readonly<Record<string, string>> {
  const own = Object.entries(envIn(settingsFile(machine))).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return own.some(isProxy) ? loopbackExemption({ ...machine.env, ...Object.fromEntries(own) }) : {};
}

/** Claude Code's own settings. */
export function settingsFile({ homeFolder, env }: Pick<Machine, "homeFolder" | "env">): string {
  return join(env["CLAUDE_CONFIG_DIR"] || join(homeFolder, ".claude"), "settings.json");
}
