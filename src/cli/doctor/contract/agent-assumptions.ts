import { type AgentLook, type AgentReply, repliedSessionId } from "../../../backends/acp/process/look-at-agent.ts";
import { readAbilities } from "../../../backends/acp/wire/abilities.ts";
import { readSessionOptions, type SessionOffer } from "../../../backends/acp/wire/session-offer.ts";
import { type Assumption, differs, judged, type Observation, ok, unknown } from "./report.ts";

/** The answers of the agent program, started as each of the two types that Millrace uses. */
export interface AgentObservation {
  readonly agent: AgentLook;
  readonly summarizer: AgentLook;
}

const sessions = "acp.md, Sessions";
const inSessions = { source: sessions, certainty: "several sources" } as const;
/** Source: docs/dev/wire/acp.md, "Errors". */
const noSuchSession = -32016;

/** The assumptions about the agent program. */
export const agentAssumptions: readonly Assumption<AgentObservation>[] = [
  {
    id: "agent.initialize",
    sentence: "The agent answers initialize with protocol version 1.",
    ...inSessions,
    check: ({ agent }) =>
      ofAnswer(agent.initialize, (result) => {
        const { protocolVersion } = membersOf(result);
        return judged(protocolVersion === 1, `version ${shown(protocolVersion)}`);
      }),
  },
  {
    id: "agent.name",
    sentence: "The agent calls itself affogato.",
    ...inSessions,
    check: ({ agent }) =>
      whereAnswered(agent.initialize, (result) => {
        const { name = "no name", version = "without a version" } = readAbilities(result);
        return judged(name === "affogato", `${name} ${version}`);
      }),
  },
  {
    id: "agent.client-name",
    sentence: "The agent takes the client name millrace.",
    source: "acp.md, Signing in",
    certainty: "not settled",
    check: ({ agent: { initialize, clientName } }) =>
      whereAnswered(initialize, () => judged(clientName === "millrace", `took ${clientName ?? "no name"}`)),
  },
  {
    id: "agent.load",
    sentence: "The agent can load a stored session.",
    ...inSessions,
    check: ({ agent }) =>
      whereAnswered(agent.initialize, (result) => yes(readAbilities(result).canLoad, "loadSession")),
  },
  {
    id: "agent.images",
    sentence: "The agent takes images in a prompt.",
    ...inSessions,
    check: ({ agent }) => whereAnswered(agent.initialize, (result) => yes(readAbilities(result).takesImages, "image")),
  },
  {
    id: "agent.new-session",
    sentence: "With a key in the environment or stored, session/new needs no authenticate.",
    source: "acp.md, Signing in",
    certainty: "several sources",
    check: ({ agent }) => ofAnswer(agent.newSession, () => ok("a session without authenticate")),
  },
  {
    id: "agent.session-id",
    sentence: "The id of a session is two words with a hyphen.",
    ...inSessions,
    check: ({ agent }) =>
      whereAnswered(agent.newSession, (result) => {
        const id = repliedSessionId(result);
        if (id === undefined) return differs("no id");
        return /^[a-z]+-[a-z]+$/.test(id) ? ok("two words") : differs(`another form, ${id.length} characters`);
      }),
  },
  {
    id: "agent.modes",
    sentence: "A session has the modes accept-edits, ask and plan, and accept-edits is the default.",
    ...inSessions,
    check: ({ agent }) =>
      ofOptions(agent.newSession, ({ mode }) =>
        mode === undefined
          ? differs("no modes")
          : judged(
              ["accept-edits", "ask", "plan"].every((id) => mode.ids.includes(id)) && mode.current === "accept-edits",
              `${mode.ids.join(", ")}; ${mode.current} at first`,
            ),
      ),
  },
  {
    id: "agent.model-option",
    sentence: "A session has an option for the model.",
    ...inSessions,
    check: ({ agent }) =>
      ofOptions(agent.newSession, ({ model }) =>
        model === undefined
          ? differs("no such option")
          : judged(model.models.length > 0, `${model.models.length} models`),
      ),
  },
  {
    id: "agent.list",
    sentence: "session/list answers a list of sessions.",
    ...inSessions,
    check: ({ agent }) =>
      ofAnswer(agent.list, (result) => {
        const listed = listedIds(result);
        return listed === undefined ? differs("an answer without a list") : ok(`${listed.length} sessions`);
      }),
  },
  {
    id: "agent.not-stored",
    sentence: "A session is not stored before its first prompt.",
    source: sessions,
    certainty: "one source",
    check: ({ agent: { list, newSession } }) => {
      const listed = list.ok ? listedIds(list.result) : undefined;
      const id = newSession.ok ? repliedSessionId(newSession.result) : undefined;
      if (listed === undefined || id === undefined) return unknown("there is no list or no session");
      return listed.includes(id) ? differs("it is in the list") : ok("it is not in the list");
    },
  },
  {
    id: "agent.delete",
    sentence:
      "The agent offers session/delete. For a session without a prompt it succeeds, or says that there is no such session.",
    ...inSessions,
    check: ({ agent: { initialize, discard } }) => {
      if (!initialize.ok) return unknown(initialize.why);
      if (!readAbilities(initialize.result).canDelete) return differs("not offered");
      if (!discard.ok && discard.code === noSuchSession) return ok("offered; no such session before its first prompt");
      return ofAnswer(discard, () => ok("the session was deleted"));
    },
  },
  {
    id: "agent.summarizer",
    sentence: "The agent type summarizer opens a session that has no option for the model.",
    source: sessions,
    certainty: "one source",
    check: ({ summarizer: { initialize, newSession } }) => {
      if (!initialize.ok) return ofAnswer(initialize, () => ok("it starts"));
      return ofOptions(newSession, ({ model }) =>
        model === undefined ? ok("no such option") : differs(`an option with ${model.models.length} models`),
      );
    },
  },
];

function ofAnswer(answer: AgentReply, judge: (result: unknown) => Observation): Observation {
  if (answer.ok) return read(() => judge(answer.result));
  return answer.code === undefined ? unknown(answer.why) : differs(answer.why);
}

function whereAnswered(answer: AgentReply, judge: (result: unknown) => Observation): Observation {
  return answer.ok ? read(() => judge(answer.result)) : unknown(answer.why);
}

function ofOptions(answer: AgentReply, judge: (options: SessionOffer) => Observation): Observation {
  return whereAnswered(answer, (result) => judge(readSessionOptions(result)));
}

/** The readers throw where an answer has another form than they know. */
function read(judge: () => Observation): Observation {
  try {
    return judge();
  } catch {
    return differs("an answer in another form");
  }
}

const yes = (holds: boolean, name: string): Observation =>
  judged(holds, `${name} is ${holds ? "offered" : "not offered"}`);

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function shown(value: unknown): string {
  return typeof value === "number" || typeof value === "string" ? String(value) : "of no known form";
}

function listedIds(result: unknown): readonly string[] | undefined {
  const { sessions: listed } = membersOf(result);
  if (!Array.isArray(listed)) return undefined;
  return listed.flatMap((entry: unknown) => repliedSessionId(entry) ?? []);
}
