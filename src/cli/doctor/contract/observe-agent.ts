import { type AgentLook, type AgentReply, repliedSessionId } from "../../../backends/acp/process/look-at-agent.ts";
import { readAbilities } from "../../../backends/acp/wire/abilities.ts";
import { readSessionOptions } from "../../../backends/acp/wire/session-offer.ts";
import { isObject } from "../../../base/json.ts";
import type { Fact, Facts } from "./observe-server.ts";

/** Source: docs/dev/wire/acp.md, "Errors". */
const noSuchSession = -32016;

/** What the answers of the agent program show, started as each of the two types that Millrace uses. */
export function agentFacts(agent: AgentLook, summarizer: AgentLook): Facts {
  const { initialize, newSession, list, discard } = agent;
  const ability = (has: (abilities: ReturnType<typeof readAbilities>) => boolean, name: string) =>
    fact(initialize, (result) => {
      const value = has(readAbilities(result));
      return { value, seen: `${name} is ${value ? "offered" : "not offered"}` };
    });
  const listed = list.ok && isObject(list.result) ? idsIn(list.result["sessions"]) : undefined;
  const opened = newSession.ok ? repliedSessionId(newSession.result) : undefined;
  return {
    "agent.initialize": refusable(initialize, (result) => {
      const version = isObject(result) ? result["protocolVersion"] : undefined;
      const isPlain = typeof version === "number" || typeof version === "string";
      return { value: version, seen: `version ${isPlain ? version : "of no known form"}` };
    }),
    "agent.name": fact(initialize, (result) => {
      const { name = "no name", version = "without a version" } = readAbilities(result);
      return { value: `${name} ${version}`, seen: `${name} ${version}` };
    }),
    "agent.client-name": fact(initialize, () => ({
      value: agent.clientName,
      seen: `took ${agent.clientName ?? "no name"}`,
    })),
    "agent.load": ability(({ canLoad }) => canLoad, "loadSession"),
    "agent.images": ability(({ takesImages }) => takesImages, "image"),
    "agent.new-session": refusable(newSession, () => ({ value: true, seen: "a session without authenticate" })),
    "agent.session-id": fact(newSession, () => {
      const value = /^[a-z]+-[a-z]+$/.test(opened ?? "");
      return { value, seen: value ? "two words" : `another form, ${opened?.length ?? 0} characters` };
    }),
    "agent.modes": fact(newSession, (result) => {
      const { mode } = readSessionOptions(result);
      const seen = mode === undefined ? "no modes" : `${mode.ids.join(", ")}; ${mode.current} at first`;
      return { value: seen, seen };
    }),
    "agent.model-option": fact(newSession, modelsOf),
    "agent.list": refusable(list, () =>
      listed === undefined
        ? { value: undefined, seen: "an answer without a list" }
        : { value: listed.length, seen: `${listed.length} sessions` },
    ),
    "agent.not-stored":
      listed === undefined || opened === undefined
        ? { why: "there is no list or no session" }
        : { value: !listed.includes(opened), seen: `it is ${listed.includes(opened) ? "" : "not "}in the list` },
    "agent.delete": fact(initialize, (result) => {
      if (!readAbilities(result).canDelete) return { value: false, seen: "not offered" };
      if (!discard.ok && discard.code === noSuchSession)
        return { value: true, seen: "offered; no such session before its first prompt" };
      return refusable(discard, () => ({ value: true, seen: "the session was deleted" }));
    }),
    "agent.summarizer": summarizer.initialize.ok
      ? fact(summarizer.newSession, (result) => {
          const { value, seen } = modelsOf(result);
          return { value: value === undefined, seen: value === undefined ? seen : `an option with ${seen}` };
        })
      : refusable(summarizer.initialize, () => ({ value: true, seen: "it starts" })),
  };
}

function modelsOf(result: unknown) {
  const { model } = readSessionOptions(result);
  if (model === undefined) return { value: undefined, seen: "no such option" };
  return { value: model.models.length, seen: `${model.models.length} models` };
}

/** The readers throw where an answer has another form than they know. */
function fact(reply: AgentReply, read: (result: unknown) => Fact): Fact {
  if (!reply.ok) return { why: reply.why };
  try {
    return read(reply.result);
  } catch {
    return { value: undefined, seen: "an answer in another form" };
  }
}

/** An error of the agent is evidence; that it did not answer is none. */
function refusable(reply: AgentReply, read: (result: unknown) => Fact): Fact {
  if (!reply.ok && reply.code !== undefined) return { value: undefined, seen: reply.why };
  return fact(reply, read);
}

function idsIn(list: unknown): readonly string[] | undefined {
  return Array.isArray(list) ? list.flatMap((entry: unknown) => repliedSessionId(entry) ?? []) : undefined;
}
