import { join } from "node:path";
import { hostless, lookAtHosts } from "../../backends/acp/host/hosted-child.ts";
import type { HostLook } from "../../backends/acp/host/wire.ts";
import { type Finding, finding } from "../doctor/finding.ts";
import { spellCount } from "../doctor/spell.ts";

/** Where the sockets of agents are that outlive a gateway, below Millrace's own folder. */
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

/** The agents that wait for a gateway, why there can be none, and what an agent's end leaves on this system. */
export async function checkHosts(folder: string, platform: NodeJS.Platform): Promise<readonly Finding[]> {
  const strays = platform === "linux" ? [] : [finding("agent", "note", strayPrograms)];
  const why = hostless(hostsFolder(folder), platform);
  if (why !== undefined)
    return [finding("agent", "note", `Agents end with the gateway, and their answers too: ${why}`), ...strays];
  const left = (await lookAtHosts(hostsFolder(folder))).filter(({ served }) => !served);
  if (left.length === 0) return strays;
  const what = `${spellCount(left.length, "agent")} of an earlier gateway ${left.length === 1 ? "waits" : "wait"} for the next one: ${left.map(spellHost).join("; ")}`;
  return [
    finding(
      "agent",
      "note",
      what,
      "Start the gateway to read their answers, or run `millrace stop --agents` to end them.",
    ),
    ...strays,
  ];
}

/** Linux alone shows the environment of a process, by which such a program is found. */
const strayPrograms =
  "A program that an agent starts and detaches from itself may go on after the agent's end: this system does not tell whose it is";
