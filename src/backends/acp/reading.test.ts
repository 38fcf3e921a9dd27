import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../base/json.ts";
import { agentError, isLockedSession, isUnknownSession } from "./process/errors.ts";
import { readReplay } from "./session/replay.ts";
import { playedSpec } from "./session/session.fake.ts";
import { quietMode } from "./session/session-options.ts";
import { UpdateReader } from "./session/updates.ts";
import { conclude, ignoresTools } from "./turn/conclusion.ts";
import { JsonLines } from "./wire/lines.ts";
import { ProcessLoss, RpcError, RpcPeer } from "./wire/rpc-peer.ts";
import { readSessionOptions } from "./wire/session-offer.ts";
import { tokensIn, usageEvent } from "./wire/token-counts.ts";

const nowMs = 1_750_000_000_000;
const context = { spec: { ...playedSpec, name: "devin", vendor: "devin" }, clock: { now: () => nowMs } } as const;
const chunk = (text: string, more: object = {}) => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
  ...more,
});
const tool = (kind: string | undefined, more: object = {}) => ({
  sessionUpdate: "tool_call",
  toolCallId: "t1",
  title: "Some tool",
  ...(kind === undefined ? {} : { kind }),
  ...more,
});

describe("lines of standard output", () => {
  test("an object that arrives in pieces is whole in the end, and noise between objects is skipped", () => {
    const lines = new JsonLines();
    expect(lines.feed('Welcome\n{"a":')).toEqual([]);
    expect(lines.feed("1")).toEqual([]);
    expect(lines.feed('}\n[1]\n\n{"b":2}\n{"c"')).toEqual([{ a: 1 }, { b: 2 }]);
    expect(lines.feed(":3}\n")).toEqual([{ c: 3 }]);
  });

  test("a reply is known by its number, also where the agent gives that as text", async () => {
    const peer = new RpcPeer(() => {}, { onRequest: () => undefined, onNotification: () => {} });
    const reply = peer.call("initialize", {});
    peer.receive({ id: { toString: "none" }, result: { a: 2 } });
    peer.receive({ id: "1", result: { a: 1 } });
    expect(await reply).toEqual({ a: 1 });
  });

  test("a line of a log that has an id is no reply; a void result and an error that is a text are", async () => {
    const peer = new RpcPeer(() => {}, { onRequest: () => undefined, onNotification: () => {} });
    const [first, second] = [peer.call("one", {}), peer.call("two", {})];
    peer.receive({ id: 1, level: "info", msg: "request", error: "none" });
    peer.receive({ jsonrpc: "2.0", id: 1 });
    peer.receive({ jsonrpc: "2.0", id: 2, error: "no such thing" });
    expect(await first).toBeUndefined();
    await expect(second).rejects.toThrow("no such thing");
  });
});

describe("updates", () => {
  test("texts around a tool step are joined by an empty line, in the deltas as in the whole", () => {
    const reader = new UpdateReader();
    const events = [chunk("Let me "), chunk("look."), tool("read"), chunk("Found"), chunk(" it.")].map((update) =>
      reader.read(update),
    );
    expect(reader.answer.text).toBe("Let me look.\n\nFound it.");
    expect(events[3]).toEqual({ type: "text", delta: "\n\nFound" });
    expect(reader.effect).toBeUndefined();
  });

  test.each(["edit", "delete", "move", "execute"])(
    "a step of the kind %s is an effect, also where the kind comes later",
    (kind) => {
      const reader = new UpdateReader();
      reader.read(tool(undefined));
      expect(reader.effect).toBeUndefined();
      reader.read(tool(kind, { sessionUpdate: "tool_call_update", title: "Run\nls -la" }));
      expect(reader.effect).toMatchObject({ name: `${kind}: Run ls -la`, state: "begun" });
      reader.read(tool(kind, { sessionUpdate: "tool_call_update", status: "completed" }));
      expect(reader.effect).toMatchObject({ state: "done" });
    },
  );

  test.each(["read", "search", "think", "fetch", "other", "switch_mode"])("a step of the kind %s is none", (kind) => {
    const reader = new UpdateReader();
    reader.read(tool(kind));
    expect(reader.effect).toBeUndefined();
  });

  test("a question to the agent's own user stops the turn, because it cannot be answered here", () => {
    const reader = new UpdateReader();
    reader.read(tool("other", { title: "ask_user_question" }));
    expect(reader.effect?.name).toBe("other: ask_user_question");
  });

  test.each([[{ question: "Which one?" }], [{ questions: [{ question: "Which one?" }] }]])(
    "a question with its words in %j is the end of the answer",
    (rawInput) => {
      const reader = new UpdateReader();
      reader.read(chunk("I looked."));
      const event = reader.read(tool("other", { title: "Ask the user", rawInput }));
      expect(event).toEqual({ type: "text", delta: "\n\nWhich one?" });
      expect([reader.isQuestion, reader.effect, reader.answer.text]).toEqual([
        true,
        undefined,
        "I looked.\n\nWhich one?",
      ]);
    },
  );

  test.each([
    "Model metadata for `mock-m1` not found. Defaulting to fallback metadata; this can degrade performance and cause issues.",
    "Warning: Model metadata for `mock-m1` not found. Defaulting to fallback metadata; this can degrade performance and cause issues.",
    "[MODE_UPDATE] plan",
  ])("a line that the agent writes about itself is no text: %s", (line) => {
    const reader = new UpdateReader();
    expect(reader.read(chunk(line))).toBeUndefined();
    reader.read(chunk("The answer. "));
    expect(reader.read(chunk(`${line}\n`))).toBeUndefined();
    reader.read(chunk(`It wrote: ${line}`));
    expect(reader.answer.text).toBe(`The answer. It wrote: ${line}`);
  });

  test.each(["informational", "mcpServerStatus"])("what Claude marks as its program's (%s) is no text", (kind) => {
    const reader = new UpdateReader();
    reader.read(chunk("The answer."));
    expect(reader.read(chunk("**Warning:** a change.", { _meta: { claudeCode: { kind } } }))).toBeUndefined();
    reader.read(chunk(" It ends.", { _meta: { claudeCode: { kind: "reply" } } }));
    expect(reader.answer.text).toBe("The answer. It ends.");
  });

  test("notices of the program are no text", () => {
    const reader = new UpdateReader();
    expect(reader.read(chunk("Compacting…", { _meta: { "cognition.ai/displayMessage": true } }))).toBeUndefined();
    expect(reader.answer.text).toBe("");
  });
});

describe("the end of a prompt", () => {
  const ended = (stopReason: string, prepare: (reader: UpdateReader) => void = () => {}) => {
    const reader = new UpdateReader();
    reader.read(chunk("Some text."));
    prepare(reader);
    return conclude({ type: "answered", stopReason, tokens: undefined }, reader, context);
  };

  test.each([
    ["end_turn", "stop"],
    ["max_tokens", "length"],
    ["max_turn_requests", "length"],
    ["refusal", "content_filter"],
    ["something_new", "stop"],
  ])("%s is %s", (stopReason, unified) => {
    expect(ended(stopReason)).toEqual({ type: "finished", reason: { unified, raw: stopReason }, text: "Some text." });
  });

  test("both ends name the kinds of tools with which the agent looked something up, each once", () => {
    const look = (reader: UpdateReader) => {
      for (const [n, kind] of ["read", "search", "read", "think"].entries())
        reader.read(tool(kind, { toolCallId: `look-${n}` }));
      reader.read(chunk("Found."));
    };
    expect(ended("end_turn", look)).toMatchObject({ type: "finished", ideTools: ["read", "search"] });
    const stopped = ended("end_turn", (reader) => {
      look(reader);
      reader.read(tool("other", { toolCallId: "asks", title: "Ask the user" }));
    });
    expect(stopped).toMatchObject({ type: "failed", ideTools: ["read", "search"] });
    expect(ended("end_turn")).not.toHaveProperty("ideTools");
  });

  test("cancelled, and not by us, is a cancel in the IDE", () => {
    expect(ended("cancelled")).toEqual({ type: "cancelled", by: "ide" });
  });

  test("Devin's own cause goes before `end_turn`", () => {
    const stopped = (cause: string) => ended("end_turn", (reader) => reader.readStopped({ cause }));
    expect(stopped("quota_exhausted")).toMatchObject({ type: "failed", error: { code: "quota_exhausted" } });
    expect(stopped("auth_required")).toMatchObject({ type: "failed", error: { code: "not_signed_in" } });
    expect(stopped("error")).toMatchObject({ type: "failed", error: { code: "upstream_failed" } });
    expect(stopped("output_truncated")).toMatchObject({ type: "finished", reason: { unified: "length" } });
    expect(stopped("content_filter")).toMatchObject({ type: "finished", reason: { unified: "content_filter" } });
    expect(stopped("complete")).toMatchObject({ type: "finished", reason: { unified: "stop", raw: "end_turn" } });
  });

  test("what Devin says of the plan and of its connection is in the error of a turn that failed, and in no answer", () => {
    const tell = (reader: UpdateReader) => {
      reader.readVendor("_cognition.ai/billingInformation", { title: "Weekly quota", body: "90 % is used." });
      reader.readVendor("_cognition.ai/connection_retry", { attempt: 1, maxAttempts: 5, isStreamRetry: false });
    };
    expect(ended("end_turn", tell)).toMatchObject({ type: "finished", text: "Some text." });
    const message = expect.stringMatching(/ The agent says: "Weekly quota: 90 % is used\."$/);
    expect(ended("quota_exhausted", tell)).toMatchObject({ error: { code: "quota_exhausted", message } });
    const silent = (after: (reader: UpdateReader) => void) => {
      const reader = new UpdateReader();
      tell(reader);
      after(reader);
      return conclude({ type: "silent", inLine: false }, reader, context);
    };
    const lost = { code: "upstream_timeout", message: expect.stringContaining("lost its connection") };
    expect(silent(() => {})).toMatchObject({ error: lost });
    expect(silent((reader) => reader.read(chunk("Back.")))).not.toMatchObject({ error: lost });
  });

  test("a call of the client's tool stays one under another title, but not once it acts", () => {
    const reader = new UpdateReader({ owns: ({ title }) => title === "ours: shell" });
    reader.read(tool("other", { title: "ours: shell" }));
    const later = (more: object) => reader.read({ sessionUpdate: "tool_call_update", toolCallId: "t1", ...more });
    later({ title: "Listing files" });
    expect([reader.announced, reader.readPermission({ toolCallId: "t1" })]).toEqual([1, true]);
    later({ kind: "execute" });
    expect([reader.announced, reader.readPermission({ toolCallId: "t1" })]).toEqual([0, false]);
  });

  test("no text, or none after a refused permission, is no answer", () => {
    const nothing = conclude(
      { type: "answered", stopReason: "end_turn", tokens: undefined },
      new UpdateReader(),
      context,
    );
    expect(nothing).toMatchObject({ type: "failed", error: { details: { reason: "unusable_answer" } } });
    const refused = ended("end_turn", (reader) => reader.readPermission({ toolCallId: "t2", kind: "other" }));
    expect(refused).toMatchObject({ type: "failed", error: { details: { reason: "unusable_answer" } } });
    const answeredAfter = ended("end_turn", (reader) => {
      reader.readPermission({ toolCallId: "t2", kind: "other" });
      reader.read(chunk("So be it."));
    });
    expect(answeredAfter).toMatchObject({ type: "finished" });
  });
});

describe("errors", () => {
  test.each([
    [new RpcError(-32000, "ACP host has not authenticated", undefined), "not_signed_in"],
    [new RpcError(-32000, "", undefined), "not_signed_in"],
    [new RpcError(-32603, "Authentication required", undefined), "not_signed_in"],
    [new RpcError(-32011, "resource exhausted", undefined), "quota_exhausted"],
    [
      new RpcError(-32603, "Your daily usage quota has been exhausted.", { "cognition.ai/retryable": true }),
      "quota_exhausted",
    ],
    [new RpcError(-32013, "Your weekly usage quota has been exhausted.", undefined), "quota_exhausted"],
    [new RpcError(-32011, "Rate limit exceeded. Try again in 5 minutes.", undefined), "rate_limited"],
    [new RpcError(-32012, "deadline", undefined), "upstream_timeout"],
    [new RpcError(-32602, "Invalid params: model not found: mock/nope", undefined), "unknown_model"],
    [new RpcError(-32013, "boom", { "cognition.ai/errorKind": "quota_exhausted" }), "quota_exhausted"],
    [new RpcError(-32014, "who knows", undefined), "upstream_failed"],
    [new ProcessLoss("signal SIGKILL"), "upstream_failed"],
  ])("%s is %s", (error, code) => {
    expect(agentError(error, context).code).toBe(code);
  });

  const overload = "The model is overloaded. Please try again later.";
  test.each<[string, unknown, string, string]>([
    ["a text", overload, "rate_limited", "in high demand"],
    ["{data} as a text", { data: overload }, "rate_limited", "in high demand"],
    ["{data: {message}}", { data: { message: overload } }, "rate_limited", "in high demand"],
    [
      "{error: {type}}",
      { error: { type: "overloaded_error", message: "Overloaded" } },
      "rate_limited",
      "in high demand",
    ],
    [
      "JSON in a text",
      JSON.stringify({ error: { status: 429, message: "slow down" } }),
      "rate_limited",
      "rate limited",
    ],
    ["a list", [{ reason: "Your usage limit is reached" }], "quota_exhausted", "quota is used up"],
    ["another text", "the disk is full", "upstream_failed", 'It says: "the disk is full"'],
    ["{details}", { details: "the disk is full" }, "upstream_failed", 'It says: "the disk is full"'],
    ["nothing", undefined, "upstream_failed", 'It says: "Internal error"'],
    ["itself", ring(), "upstream_failed", 'It says: "round"'],
  ])("an internal error whose data is %s is read and classed", (_, data, code, said) => {
    const error = agentError(new RpcError(-32603, "Internal error", data), context);
    expect(error.code).toBe(code);
    expect(error.message).toContain(said);
  });

  /** Data that contains itself. */
  function ring() {
    const data: { data?: unknown; readonly message: string } = { message: "round" };
    data.data = data;
    return data;
  }

  test("a limit's text says when to come back", () => {
    const error = agentError(new RpcError(-32011, "Rate limit exceeded. Try again in 5 minutes.", undefined), context);
    expect(error.retryAfterMs).toBe(300_000);
  });

  test.each<[string, "daily" | "weekly" | undefined, number | undefined]>([
    ["Your weekly usage quota has been exhausted.", "weekly", undefined],
    ["Your weekly usage quota has been exhausted. It resets in 2 days 3 hours.", "weekly", 51 * 3_600_000],
    ["Your weekly usage quota has been exhausted and resets at 1970-01-03T08:00:00Z.", "weekly", undefined],
    ["Your daily usage quota has been exhausted. Resets in: 3h0m0s", "daily", 3 * 3_600_000],
    ["Your usage quota has been exhausted.", undefined, undefined],
  ])("a quota's text names its window, and the reset where it has one: %s", (text, window, waitMs) => {
    const error = agentError(new RpcError(-32011, text, { "cognition.ai/errorKind": "quota_exhausted" }), context);
    const named = /at (\S+Z)/.exec(text)?.[1];
    const resetsAtMs = named === undefined ? waitMs && nowMs + waitMs : Date.parse(named);
    expect([error.code, error.details, error.resetsAtMs]).toEqual([
      "quota_exhausted",
      window === undefined ? undefined : { window },
      resetsAtMs,
    ]);
    expect(error.message).toContain(`${window === undefined ? "" : `${window} `}usage quota`);
  });

  test("an unknown error quotes the agent, without what looks like a key", () => {
    const error = agentError(new RpcError(-32603, "bad key devin-session-token$abc.def here", undefined), context);
    expect(error.message).toContain("bad key [redacted] here");
  });

  test("missing and held sessions are distinguished from other errors", () => {
    expect(isUnknownSession(new RpcError(-32016, "", undefined))).toBe(true);
    expect(isUnknownSession(new RpcError(-32603, "OpenCode service failure", undefined))).toBe(false);
    expect(isLockedSession(new RpcError(-32015, "", undefined))).toBe(true);
  });
});

describe("tokens", () => {
  const usage = (counts: object) => {
    const tokens = tokensIn(counts);
    return tokens === undefined ? undefined : usageEvent(tokens);
  };

  test("cached tokens and thoughts are added where the sum says that they are apart", () => {
    const counts = { inputTokens: 10, outputTokens: 5, thoughtTokens: 3, cachedReadTokens: 100 };
    expect(usage({ ...counts, totalTokens: 118 })).toMatchObject({ promptTokens: 110, completionTokens: 8 });
    expect(usage({ ...counts, totalTokens: 115 })).toMatchObject({ promptTokens: 110, completionTokens: 5 });
    expect(usage({ ...counts, inputTokens: 110, totalTokens: 118 })).toMatchObject({
      promptTokens: 110,
      completionTokens: 8,
    });
    expect(usage({ ...counts, inputTokens: 110, totalTokens: 115 })).toMatchObject({
      promptTokens: 110,
      completionTokens: 5,
    });
  });

  test("counts one level below are found, and zeros are none", () => {
    expect(usage({ "vendor/usage": { input_tokens: 7, output_tokens: 2 } })).toMatchObject({
      promptTokens: 7,
      completionTokens: 2,
    });
    expect(usage({ inputTokens: 0, outputTokens: 0, totalTokens: 0 })).toBeUndefined();
    expect(usage({ used: 5, size: 200_000 })).toBeUndefined();
  });
});

describe("options of a session", () => {
  const modes = (ids: readonly string[], currentModeId: string) =>
    readSessionOptions({
      sessionId: "s",
      modes: { currentModeId, availableModes: ids.map((id) => ({ id, name: id })) },
    });

  test.each<[readonly string[], string | undefined]>([
    [["accept-edits", "smart", "ask", "plan", "bypass"], "ask"],
    [["read-only", "auto", "full-access"], "read-only"],
    [["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"], "plan"],
    [["default", "autoEdit", "yolo"], undefined],
    [["build", "plan"], "plan"],
    [["plan", "default", "auto-edit", "yolo"], "plan"],
    [["workspaceReadOnly", "agent"], "workspaceReadOnly"],
    [["default", "auto"], undefined],
    [["https://agentclientprotocol.com/protocol/session-modes#agent", "https://a/modes#plan"], "https://a/modes#plan"],
    [["no-ask", "don't-ask", "plan-and-execute", "chat_with_tools", "ask-once", "unrestricted plan"], undefined],
    [["read-only-but-full-access", "bypass-ask", "code", "anything"], undefined],
    [[], undefined],
  ])("of the modes %j, the most restrictive is %j", (ids, expected) => {
    expect(quietMode(modes(ids, ids[0] ?? ""))).toBe(expected);
  });

  test.each([
    [{ modes: {} }],
    [{ modes: { availableModes: "none" } }],
    [{ configOptions: {} }],
    [{ configOptions: 7 }],
  ])("a reply with %j is read without it", (reply) => {
    expect(readSessionOptions(reply)).toMatchObject({ mode: undefined, model: undefined });
  });

  test("models in groups keep their heading, and options of other shapes do no harm", () => {
    const { model, mode } = readSessionOptions({
      sessionId: "s",
      configOptions: [
        { id: "turbo", type: "boolean", currentValue: true },
        "nonsense",
        {
          id: "m",
          category: "model",
          type: "select",
          currentValue: "b",
          options: [{ group: "g", name: "Fast ones", options: [{ value: "a", name: "A" }, { value: "b" }] }],
        },
      ],
    });
    expect(model).toEqual({
      configId: "m",
      current: "b",
      models: [
        { id: "a", label: "A", description: undefined, group: "Fast ones", isCurrent: false },
        { id: "b", label: "b", description: undefined, group: "Fast ones", isCurrent: true },
      ],
    });
    expect(mode).toBeUndefined();
  });
});

describe("a replay", () => {
  const user = (text: string, messageId?: string) => ({
    sessionUpdate: "user_message_chunk",
    content: { type: "text", text },
    ...(messageId === undefined ? {} : { messageId }),
  });

  test("blocks of one user message are one, whether by its id or by standing together", () => {
    const byId = [user("rules", "m1"), user("question", "m1"), chunk("One."), user("next", "m2"), chunk("Two.")];
    expect(readReplay(byId, 1)).toMatchObject({ userMessages: 2, accepted: true });
    expect(readReplay(byId, 1).reader.answer.text).toBe("Two.");
    const byPlace = [user("rules"), { sessionUpdate: "session_info_update" }, user("question"), chunk("One.")];
    expect(readReplay(byPlace, 0)).toMatchObject({ userMessages: 1, accepted: true });
    expect(readReplay(byPlace, 1).accepted).toBe(false);
  });

  test("token counts end an answer with its last message: not before a step that follows, and not without text", () => {
    const counted = (text: string) => ({ ...chunk(text), _meta: { usage: { inputTokens: 3, outputTokens: 5 } } });
    const hasEnd = (...updates: readonly JsonObject[]) => readReplay([user("a"), ...updates], 0).reader.hasEnd;
    expect(hasEnd(chunk("One"), counted(""))).toBe(true);
    expect(hasEnd(counted("One"), tool("read"))).toBe(false);
    expect(hasEnd(counted("One"), chunk(" more"))).toBe(false);
    expect(hasEnd(counted(""))).toBe(false);
  });

  test("two prompts in a row without an answer are two where they have ids", () => {
    expect(readReplay([user("a", "m1"), user("b", "m2")], 1).accepted).toBe(true);
  });
});

test.each([
  ["that used a tool of its own", false, "completed", true],
  ["whose own tool failed", false, "failed", true],
  ["without tools, whose model named one that is not there", true, "failed", false],
  ["without tools that used one all the same", true, "completed", true],
] as const)("an agent %s gets the client's tools in prose: %j, %s: %j", (_, hasNoTools, status, ignores) => {
  const reader = new UpdateReader();
  reader.read(tool("execute", { status: "pending" }));
  reader.read({ sessionUpdate: "tool_call_update", toolCallId: "t1", status });
  expect(ignoresTools(reader, false, { ...playedSpec, command: hasNoTools ? "codex-acp" : "played" })).toBe(ignores);
});
