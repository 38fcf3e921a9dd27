import type { CascadesOnDisk } from "../compose/own-cascades.ts";
import type { AgentsCheck } from "./check-agents.ts";
import { type BackendCheck, besideAgent } from "./check-backend.ts";
import type { GatewayCheck } from "./check-gateway.ts";
import type { IdeCheck } from "./check-ides.ts";
import type { KeyCheck, MachineCheck } from "./check-machine.ts";
import type { StoreCheck } from "./check-store.ts";
import { type Finding, finding } from "./finding.ts";
import { spellBytes, spellCount } from "./spell.ts";

type WithoutFindings<T> = Omit<T, "findings">;

/** Everything the doctor found, as `--json` prints it. Stable: members are added, never renamed. Holds no secret. */
export interface DoctorReport {
  /** The findings, the worst first. */
  readonly data: readonly Finding[];
  readonly machine: WithoutFindings<MachineCheck>;
  readonly ides: IdeCheck["ides"];
  readonly rejected: IdeCheck["rejected"];
  /** Installed programs, their accounts, and the source of the plan. */
  readonly installed: AgentsCheck;
  readonly backend: BackendCheck["backend"];
  /** Agents that were started to look at them. */
  readonly agents: BackendCheck["agents"];
  readonly gateway: WithoutFindings<GatewayCheck>;
  readonly key: WithoutFindings<KeyCheck>;
  readonly store: WithoutFindings<StoreCheck>;
  readonly conversations: WithoutFindings<ConversationsCheck>;
  readonly trace: IdeCheck["trace"];
}

/** Puts the checks together; the worst findings first, each kind in the order of the checks. */
export function assembleReport(checks: {
  readonly machine: MachineCheck;
  readonly ides: IdeCheck;
  readonly installed: AgentsCheck;
  readonly backend: BackendCheck;
  readonly gateway: GatewayCheck;
  readonly key: KeyCheck;
  readonly store: StoreCheck;
  readonly cascades: CascadesOnDisk;
  readonly more: readonly Finding[];
}): DoctorReport {
  const { findings: ofMachine, ...machine } = checks.machine;
  const { findings: ofIdes, ides, rejected, trace } = checks.ides;
  const { findings: ofAgents, backend, agents } = checks.backend;
  const { findings: ofGateway, ...gateway } = checks.gateway;
  const { findings: ofKey, ...key } = checks.key;
  const { findings: ofStore, ...store } = checks.store;
  const { findings: ofConversations, ...conversations } = checkConversations(checks.cascades);
  // If nothing was found, the checks of the IDEs already report that.
  const said = backend.kind === "none" && ofIdes.some(({ level }) => level === "error");
  const asked = said ? ofAgents.filter(({ what }) => what !== backend.why) : ofAgents;
  const all = [
    ...ofMachine,
    ...besideAgent(ofIdes, backend),
    ...asked,
    ...checks.more,
    ...ofGateway,
    ...ofKey,
    ...ofStore,
    ...ofConversations,
  ];
  const data = levels.flatMap((level) => all.filter((finding) => finding.level === level));
  const { installed } = checks;
  return { data, machine, ides, rejected, installed, backend, agents, gateway, key, store, conversations, trace };
}

const levels: readonly Finding["level"][] = ["error", "warning", "note", "ok"];

interface ConversationsCheck {
  readonly own_files: number;
  readonly own_bytes: number;
  readonly other_files: number;
  readonly other_bytes: number;
  readonly findings: readonly Finding[];
}

function taken(files: number, bytes: number): string {
  return `${spellCount(files, "conversation")} (${spellBytes(bytes)} on disk)`;
}

const manyBytes = 500 * 1000 ** 2;

/** How much disk conversations take in the IDE's folders, ours and its own. */
function checkConversations({ own, others }: CascadesOnDisk): ConversationsCheck {
  const ownBytes = own.reduce((sum, { bytes }) => sum + bytes, 0);
  const ours =
    own.length === 0
      ? "No conversation of Millrace is left in the IDE"
      : `${taken(own.length, ownBytes)} of Millrace ${own.length === 1 ? "is" : "are"} in the IDE`;
  const theirs = others.files === 0 ? "" : `; ${taken(others.files, others.bytes)} are the IDE's own`;
  const what = `${ours}${theirs}`;
  const level = ownBytes > manyBytes ? "warning" : "note";
  const verdict =
    own.length === 0
      ? finding("conversations", "ok", what)
      : finding("conversations", level, what, "`millrace cascades clean` shows what can go.");
  return {
    own_files: own.length,
    own_bytes: ownBytes,
    other_files: others.files,
    other_bytes: others.bytes,
    findings: [verdict],
  };
}
