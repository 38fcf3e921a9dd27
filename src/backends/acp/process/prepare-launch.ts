import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeJson } from "../../../base/json.ts";
import { type AcpAgentSpec, workingFolder } from "../known/agent-spec.ts";
import { type OwnSettings, ownSettings } from "../known/own-settings.ts";

/** Everything that is kept of this agent is below it. */
export function agentFolder({ folder, name }: AcpAgentSpec): string {
  return join(folder, encodeURIComponent(name));
}

/** The empty folder in which it runs. */
export function agentCwd(spec: AcpAgentSpec): string {
  return join(agentFolder(spec), workingFolder);
}

/** Makes the folder that the agent runs in, and reads its settings and secrets. Throws as these do. */
export async function prepareLaunch(
  spec: AcpAgentSpec,
  signal: AbortSignal,
): Promise<{
  readonly cwd: string;
  readonly own: OwnSettings;
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  /** Equal while settings and account stay the same. */
  readonly settings: string;
}> {
  const cwd = agentCwd(spec);
  await mkdir(cwd, { recursive: true, mode: 0o700 });
  const secrets = Object.entries((await spec.secrets?.(signal)) ?? {}).map(
    ([name, secret]) => [name, secret.reveal()] as const, // for the process's environment, and to take it out of texts
  );
  const own = await ownSettings(spec, agentFolder(spec));
  const environment = { ...own.environment, ...Object.fromEntries(secrets) };
  const { command, args, allowsActions } = spec;
  const settings = createHash("sha256")
    .update(writeJson([command, args, allowsActions, own, environment]).replaceAll(own.server, ""))
    .digest("hex");
  return { cwd, own, environment, secrets: secrets.map(([, value]) => value), settings };
}
