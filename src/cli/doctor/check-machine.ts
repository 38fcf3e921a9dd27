import type { Finding } from "./finding.ts";

export interface MachineCheck {
  readonly millrace: string;
  readonly node: string;
  readonly system: string;
  readonly clock: string;
  readonly findings: readonly Finding[];
}

export interface MachineFacts {
  readonly millrace: string;
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
  readonly release: string;
  readonly nowMs: number;
  /** When this version was released at the earliest, epoch ms. */
  readonly notBeforeMs: number;
}

const oldestNode = [22, 13] as const;

/** Versions and the clock. */
export function checkMachine(facts: MachineFacts): MachineCheck {
  const findings: Finding[] = [];
  const [major = 0, minor = 0] = facts.node.replace(/^v/, "").split(".").map(Number);
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])) {
    findings.push({
      area: "runtime",
      level: "error",
      what: `Node ${facts.node} is older than ${oldestNode.join(".")}`,
      todo: "Install a newer Node, or start Millrace with `npx -y node@24 $(which millrace)`.",
    });
  }
  if (facts.nowMs < facts.notBeforeMs) {
    findings.push({
      area: "clock",
      level: "error",
      what: "The clock of this machine is before this version of Millrace was made",
      todo: "Set the clock: resets, expiries and the ages of turns go by it.",
    });
  }
  return {
    millrace: facts.millrace,
    node: facts.node,
    system: `${facts.platform} ${facts.release} ${facts.arch}`,
    clock: new Date(facts.nowMs).toISOString(),
    findings,
  };
}
