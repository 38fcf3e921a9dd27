import type { Clock } from "../../../base/clock.ts";
import { splitEffort } from "../../../base/effort.ts";
import type { EventSink } from "../../../base/emitter.ts";
import { MillraceError } from "../../../base/errors.ts";
import type { Prompt } from "../../backend.ts";
import type { BackendLifecycle } from "../../lifecycle.ts";
import type { AgentHosts } from "../host/hosts.ts";
import type { AcpAgentSpec } from "../known/agent-spec.ts";
import { type AgentLaunch, launchFor } from "../known/devin.ts";
import { hasNoTools } from "../known/own-settings.ts";
import type { AgentErrorContext } from "../process/errors.ts";
import type { ProcessPool } from "../process/process-pool.ts";
import type { AgentProcess } from "./agent-process.ts";
import type { KeptSessions } from "./kept-sessions.ts";
import type { NativeKnowledge } from "./native-knowledge.ts";
import type { OpenSession } from "./open-session.ts";
import { promptBlocks, rulesOf } from "./prompt-blocks.ts";

/** The parts that all turns of one agent share. Times in ms. */
export interface AgentParts {
  readonly spec: AcpAgentSpec;
  readonly clock: Clock;
  readonly pool: ProcessPool<AgentProcess>;
  readonly hosts: AgentHosts | undefined;
  readonly kept: KeptSessions;
  readonly silenceMs: number;
  /** How long a session that another process holds is waited for. */
  readonly lockedMs: number;
  /** Called for each prompt that is sent. */
  readonly onPrompt: () => void;
  readonly events: EventSink<BackendLifecycle> | undefined;
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

/** The content blocks of a prompt. Throws `invalid_request` for images that the agent does not take. */
export function blocksOf(
  style: AgentLaunch["style"],
  process: AgentProcess,
  session: OpenSession,
  prompt: Prompt,
): object[] {
  if (prompt.images.length > 0 && !process.abilities.takesImages)
    throw new MillraceError("invalid_request", "This agent does not accept images.", {
      hint: "Leave the images out, or ask another model.",
    });
  const told = prompt.continues !== undefined && session.told === rulesOf(prompt);
  const texts = promptBlocks(style, prompt, told).map((text) => ({ type: "text", text }));
  const images = prompt.images.map(({ mimeType, base64 }) => ({ type: "image", mimeType, data: base64 }));
  return [...texts.slice(0, -1), ...images, ...texts.slice(-1)];
}
