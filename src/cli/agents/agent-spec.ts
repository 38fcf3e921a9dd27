import { join } from "node:path";
import type { AcpAgentSpec } from "../../backends/acp/agent.ts";
import type { HostLook } from "../../backends/acp/host/wire.ts";
import { MillraceError } from "../../base/errors.ts";
import { childEnvironment } from "../../base/node/child-environment.ts";
import type { AgentProgram } from "../../ide/ide.ts";
import type { AgentConfig } from "../config/read-config.ts";
import type { Io } from "../terminal/output.ts";

/** The parts that every specification is made from. */
export interface SpecParts {
  readonly io: Pick<Io, "env" | "platform" | "homeFolder">;
  /** Millrace's own folder. */
  readonly folder: string;
}

/** Names of the vendor's agents in ids of conversations, by the plan that pays. */
export const vendorNames = { windsurf: "devin", "windsurf-next": "devin-next" } as const;

/** How the vendor's agent is started that was found here. */
export function vendorSpec(program: AgentProgram, parts: SpecParts): AcpAgentSpec {
  const { io } = parts;
  const { home, path } = program;
  const variant = program.variant === "windsurf-next" ? "windsurf-next" : "windsurf";
  const homes = { HOME: home, ...(io.platform === "win32" ? { USERPROFILE: home } : {}) };
  const own = home === io.homeFolder ? io.env : withoutFolders(io.env); // those lead to the files of this user
  const environment = agentEnvironment(own, { env: [], set: { ...homes, ...quiet } }, io.platform);
  const facts = { name: vendorNames[variant], ide: variant, vendor: "devin" } as const;
  const spec = specOf(facts, [path, "acp"], environment, parts);
  if (program.signedIn !== "editor") return spec;
  return {
    ...spec,
    async secrets(signal) {
      const key = await program.readApiKey(signal);
      if (key !== undefined) return { WINDSURF_API_KEY: key };
      throw new MillraceError("not_signed_in", `The key of ${program.product} can no longer be read.`);
    },
  };
}

/** The program that the user named for the vendor's agent, with its own arguments. */
export function namedVendorSpec(command: readonly string[], parts: SpecParts): AcpAgentSpec {
  const environment = agentEnvironment(parts.io.env, { env: [], set: quiet }, parts.io.platform);
  return specOf({ name: vendorNames.windsurf, ide: "windsurf", vendor: "devin" }, command, environment, parts);
}

/** An agent of the configuration. */
export function configuredSpec(agent: AgentConfig, parts: SpecParts): AcpAgentSpec {
  const { name, command } = agent;
  const environment = agentEnvironment(parts.io.env, agent, parts.io.platform);
  const spec = specOf({ name, ide: name, vendor: "other" }, command, environment, parts);
  return agent.allow_actions === true ? { ...spec, allowsActions: true } : spec;
}

function specOf(
  facts: Pick<AcpAgentSpec, "name" | "ide" | "vendor">,
  [command = "", ...args]: readonly string[],
  environment: AcpAgentSpec["environment"],
  { folder }: SpecParts,
): AcpAgentSpec {
  return { ...facts, command, args, environment, folder: join(folder, "acp") };
}

/** The vendor's agent logs much on its standard error. */
const quiet = { RUST_LOG: "error" };

function withoutFolders(environment: Io["env"]): Io["env"] {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !/^(?:XDG_|(?:LOCAL)?APPDATA$)/i.test(name)),
  );
}

/** Never, not even by name: it makes the vendor's agent wait for a sign-in that only the editor can do. */
const forbidden = "ACP_BACKEND";

/** The environment of an agent program: its kind's variables, those that its configuration passes on by name, and those that it sets. */
export function agentEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  { env: named, set }: { readonly env: readonly string[]; readonly set: Readonly<Record<string, string>> },
  platform: NodeJS.Platform,
): Record<string, string> {
  const chosen = childEnvironment("agent", environment, platform, { named, set });
  for (const name of Object.keys(chosen)) if (name.toUpperCase() === forbidden) delete chosen[name];
  return chosen;
}

/** Where the doors of agents are that outlive a gateway, below Millrace's own folder. */
export function hostsFolder(folder: string): string {
  return join(folder, "agents");
}

/** "devin (process 4711, 1 prompt runs)". */
export function spellHost({ agent, pid, running }: HostLook): string {
  const works = running === 1 ? "1 prompt runs" : `${running} prompts run`;
  return `${agent} (process ${pid}, ${running === 0 ? "no prompt runs" : works})`;
}

/** As commands print it with `--json`. */
export function hostJson({ agent, pid, hostPid, running, served }: HostLook) {
  return { agent, pid, host_pid: hostPid, running, served };
}
