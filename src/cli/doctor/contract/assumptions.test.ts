import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import type { AgentLook, AgentReply } from "../../../backends/acp/process/look-at-agent.ts";
import { redactor } from "../redact.ts";
import { agentFacts } from "./observe-agent.ts";
import { assumed, type ContractReport, checkAll, withoutSecrets } from "./run-contract.ts";

const docs = join(import.meta.dirname, "../../../../docs/dev");
const all = [...assumed.server, ...assumed.agent];

test.each(all.map(({ id, source }) => [id, source] as const))(
  "what %s names is a heading of docs/dev/wire",
  (_, source) => {
    const [file = "", heading = ""] = source.split(", ");
    expect(readFileSync(join(docs, "wire", file), "utf8").split("\n")).toContain(`## ${heading}`);
  },
);

describe("an agent that is otherwise than assumed", () => {
  const answered = (result: unknown): AgentReply => ({ ok: true, result });
  const gone: AgentReply = { ok: false, why: "its process ended (exit code 1)" };
  const look: AgentLook = { clientName: "millrace", initialize: gone, newSession: gone, list: gone, discard: gone };
  const checked = (agent: Partial<AgentLook>, summarizer: Partial<AgentLook> = {}) =>
    checkAll(assumed.agent, agentFacts({ ...look, ...agent }, { ...look, ...summarizer }));
  const verdict = (id: string, agent: Partial<AgentLook>, summarizer: Partial<AgentLook> = {}) =>
    checked(agent, summarizer).find((one) => one.id === id)?.verdict;

  it.each([
    ["agent.initialize", { initialize: answered({ protocolVersion: 2 }) }],
    ["agent.initialize", { initialize: answered("hello") }],
    ["agent.name", { initialize: answered({ agentInfo: { name: "other" } }) }],
    ["agent.client-name", { initialize: answered({}), clientName: "windsurf" }],
    ["agent.load", { initialize: answered({ agentCapabilities: { loadSession: false } }) }],
    ["agent.images", { initialize: answered({ agentCapabilities: {} }) }],
    ["agent.new-session", { newSession: { ok: false, why: "error -32000", code: -32_000 } }],
    ["agent.session-id", { newSession: answered({ sessionId: "0f0f" }) }],
    ["agent.modes", { newSession: answered({ sessionId: "s" }) }],
    ["agent.model-option", { newSession: answered({ sessionId: "s", configOptions: [] }) }],
    ["agent.model-option", { newSession: answered({ configOptions: 7 }) }],
    ["agent.list", { list: answered([]) }],
    [
      "agent.not-stored",
      { newSession: answered({ sessionId: "s" }), list: answered({ sessions: [{ sessionId: "s" }] }) },
    ],
    ["agent.delete", { initialize: answered({ agentCapabilities: {} }) }],
  ] as const)("%s differs", (id, agent) => {
    expect(verdict(id, agent)).toBe("differs");
  });

  it("says nothing of what could not be seen", () => {
    expect(new Set(checked({}).map((one) => one.verdict))).toEqual(new Set(["unknown"]));
    expect(checked({}).filter(({ seen }) => seen === "nothing looked at it")).toEqual([]);
  });

  it("that refuses the type summarizer differs in that", () => {
    expect(verdict("agent.summarizer", {}, { initialize: { ok: false, why: "error -32602", code: -32_602 } })).toBe(
      "differs",
    );
  });
});

test("a report that leaves the machine keeps its ids, and loses names, keys and the home folder", () => {
  const redact = redactor({ secrets: ["Ann Other"], home: "/home/agent", user: "agent", hostName: "box" });
  const seen = 'Ann Other at /home/agent/x: api key abcdef-0123456789"';
  const check = { id: "agent.name", sentence: "The agent", source: "acp.md, Sessions", certainty: "one source" };
  const report: ContractReport = {
    millrace: "0",
    platform: "linux",
    at: "",
    data: [{ product: "P", what: "agent program", version: null, checks: [{ ...check, verdict: "differs", seen }] }],
    missing: [seen],
  };
  const text = JSON.stringify(withoutSecrets(report, redact));
  expect(text).not.toMatch(/Ann|abcdef|home/);
  expect(JSON.parse(text)).toMatchObject({ data: [{ checks: [check] }] });
});
