import type { Clock } from "../../../base/clock.ts";
import { splitEffort } from "../../../base/effort.ts";
import { MillraceError } from "../../../base/errors.ts";
import type { Prompt } from "../../backend.ts";
import type { AgentHosts } from "../host/hosts.ts";
import type { AcpAgentSpec } from "../known/agent-spec.ts";
import { type AgentLaunch, launchFor } from "../known/devin.ts";
import { hasNoTools } from "../known/own-settings.ts";
import type { AgentErrorContext } from "../process/errors.ts";
import type { ProcessPool } from "../process/process-pool.ts";
import type { AgentProcess } from "./agent-process.ts";
import type { MovedSessions } from "./moved-sessions.ts";
import type { NativeKnowledge } from "./native-knowledge.ts";
import { promptBlocks, rulesOf } from "./prompt-blocks.ts";
import type { Session } from "./session.ts";

/** The parts that all turns of one agent share. Times in ms. */
export interface AgentParts {
  readonly spec: AcpAgentSpec;
  readonly clock: Clock;
  readonly pool: ProcessPool<AgentProcess>;
  readonly hosts: AgentHosts | undefined;
  readonly moved: MovedSessions;
  readonly silenceMs: number;
  /** How long a session that another process holds is waited for. */
  readonly lockedMs: number;
  /** Called for each prompt that is sent. */
  readonly onPrompt: () => void;
  readonly knowledge: NativeKnowledge;
}

/** The model's id at the agent: `<agent>/<model>` without the agent; undefined for the agent's own choice. */
export function agentModelId({ name }: AcpAgentSpec, { modelUid }: Pick<Prompt, "modelUid">): string | undefined {
  const id = modelUid.startsWith(`${name}/`) ? modelUid.slice(name.length + 1) : modelUid;
  return id === "" || id === "default" ? undefined : id;
}

export function launchOf({ spec }: AgentParts, prompt: Prompt): AgentLaunch {
  const model = agentModelId(spec, prompt);
  return launchFor(spec, prompt.form, model === undefined ? undefined : splitEffort(model).model);
}

export function errorContext({ spec, clock }: AgentParts): AgentErrorContext {
  return {
    agent: spec.name,
    command: spec.command,
    vendor: spec.vendor,
    nowMs: clock.now(),
    allowsActions: spec.allowsActions === true,
    hasNoTools: hasNoTools(spec),
  };
}

/** What is known of an agent's tools is known of this. */
export function versionOf({ spec }: AgentParts, { abilities }: AgentProcess): string {
  return `${abilities.name ?? spec.name} ${abilities.version ?? ""}`.trim();
}

/** The content blocks of a prompt. Throws `invalid_request` for images that the agent does not take. */
export function blocksOf(parts: AgentParts, session: Session, prompt: Prompt): readonly object[] {
  const { images } = prompt;
  if (images.length > 0 && !session.process.abilities.takesImages)
    throw new MillraceError("invalid_request", "This agent does not accept images.", {
      hint: "Leave the images out, or ask another model.",
    });
  const hasRules = prompt.continues !== undefined && session.rules === rulesOf(prompt);
  const texts = promptBlocks(launchOf(parts, prompt).style, prompt, hasRules).map((text) => ({ type: "text", text }));
  const pictures = images.map(({ mimeType, base64 }) => ({ type: "image", mimeType, data: base64 }));
  return [...texts.slice(0, -1), ...pictures, ...texts.slice(-1)];
}
