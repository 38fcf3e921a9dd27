import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SendUserCascadeMessageRequest } from "../src/proto/windsurf/exa/language_server_pb.ts";
import { answerOf, clientOf, finalSteps, kindsOf, metadataOf, patience, postJson, send } from "./rpc-client.fake.ts";
import { type Simulator, startSimulator } from "./start.ts";

async function refusal(call: Promise<unknown>): Promise<{ code: Code; text: string }> {
  const error = await call.then(
    () => undefined,
    (cause: unknown) => ConnectError.from(cause),
  );
  if (error === undefined) throw new Error("the call was not refused");
  return { code: error.code, text: error.rawMessage };
}

const planner = { plannerTypeConfig: { case: "conversational" as const, value: {} } };

describe("the rules of the 2.x server", () => {
  let simulator: Simulator;
  let cascadeId = "";

  beforeAll(async () => {
    simulator = await startSimulator({ turn: { rate: "instant" } });
  });
  afterAll(async () => {
    await simulator.stop();
  });

  function message(more: object = {}): SendUserCascadeMessageRequest {
    return {
      metadata: metadataOf(simulator),
      cascadeId,
      items: [{ chunk: { case: "text", value: "count to 3" } }],
      ...more,
    } as unknown as SendUserCascadeMessageRequest; // a request by its fields
  }

  it("start no cascade before the panel is initialised", async () => {
    const client = clientOf(simulator);
    expect(await refusal(client.startCascade({ metadata: metadataOf(simulator) }))).toEqual({
      code: Code.NotFound,
      text: "panel state not found",
    });
    await client.initializeCascadePanelState({ metadata: metadataOf(simulator) });
    ({ cascadeId } = await client.startCascade({ metadata: metadataOf(simulator) }));
    expect(cascadeId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("name what is missing from a message", async () => {
    const client = clientOf(simulator);
    expect((await refusal(client.sendUserCascadeMessage(message()))).text).toBe(
      "invalid value: merging into nil message",
    );
    const noModel = message({ cascadeConfig: { plannerConfig: planner }, blocking: true });
    expect((await refusal(client.sendUserCascadeMessage(noModel))).text).toBe(
      "neither PlanModel nor RequestedModel specified",
    );
    const oldOnly = message({
      cascadeConfig: { plannerConfig: { ...planner, planModelDeprecated: 391 } },
      blocking: true,
    });
    expect((await refusal(client.sendUserCascadeMessage(oldOnly))).text).toMatch(/^neither/);
    const unknown = message({ cascadeId: "no-such-cascade", cascadeConfig: { plannerConfig: planner } });
    expect((await refusal(client.sendUserCascadeMessage(unknown))).text).toBe("trajectory not found: no-such-cascade");
  });

  it.each([
    ["adaptive", "unknown model UID adaptive: model not found"],
    ["no-such-model", "unknown model UID no-such-model: model not found"],
    ["claude-opus-5-high", "permission_denied"],
    ["MODEL_CHAT_GPT_4_1_2025_04_14", "no longer available"],
  ])("answer %s with an error step", async (model, text) => {
    const steps = await finalSteps(simulator, await send(simulator, "hi", { model }));
    expect(steps.at(-1)?.step).toMatchObject({
      case: "errorMessage",
      value: { error: { userErrorMessage: expect.stringContaining(text) } },
    });
  });

  it("take the old selector by number or alias, and images", async () => {
    const client = clientOf(simulator);
    for (const choice of [
      { case: "model", value: 391 },
      { case: "alias", value: 5 },
      { case: "modelUid", value: "swe-1-6" },
    ]) {
      const { cascadeId: id } = await client.startCascade({ metadata: metadataOf(simulator) });
      await client.sendUserCascadeMessage(
        message({
          cascadeId: id,
          cascadeConfig: { plannerConfig: { ...planner, requestedModelDeprecated: { choice } } },
          images: [{ base64Data: "AAAA", mimeType: "image/png" }],
        }),
      );
      expect(answerOf(await finalSteps(simulator, id))).toBe("1, 2, 3");
    }
    const { messages } = await simulator.report();
    expect(messages.slice(-3).map((one) => one.modelUid)).toEqual(["MODEL_CLAUDE_4_5_OPUS", "swe-1-6", "swe-1-6"]);
    expect(messages.at(-1)?.images).toEqual([{ base64: "AAAA", mimeType: "image/png" }]);
  });

  it("generate nothing without the conversational planner", async () => {
    const client = clientOf(simulator);
    const { cascadeId: id } = await client.startCascade({ metadata: metadataOf(simulator) });
    await client.sendUserCascadeMessage(
      message({ cascadeId: id, cascadeConfig: { plannerConfig: { requestedModelUid: "swe-1-6" } } }),
    );
    expect(kindsOf(await finalSteps(simulator, id))).toEqual(["retrieveMemory", "memory", "userInput"]);
  });

  it("report exactly what reached the server", async () => {
    const before = await simulator.report();
    const id = await send(simulator, "echo: héllo 😀", { instructions: "You are terse." });
    await finalSteps(simulator, id);
    const report = await simulator.report();
    expect(report.messages.at(-1)).toMatchObject({
      cascadeId: id,
      text: "echo: héllo 😀",
      instructions: "You are terse.",
      modelUid: "swe-1-6",
      plannerMode: 3,
    });
    expect(report.requestIds.notRising).toBe(before.requestIds.notRising);
    expect(report.calls["StartCascade"]).toBeGreaterThanOrEqual(report.startedCascades);
  });

  it("refuse raw chat in the trailer", async () => {
    const drain = async (stream: AsyncIterable<unknown>) => {
      for await (const _ of stream);
    };
    const raw = await refusal(drain(clientOf(simulator).rawGetChatMessage({ metadata: metadataOf(simulator) })));
    expect(raw.code).toBe(Code.FailedPrecondition);
    expect(raw.text).toMatch(/^There was an error with your Cascade session, please update your editor \(error ID: /);
  });

  it("run a second message after the first, and cancel the running one", async () => {
    const id = await send(simulator, "echo: one [[sim: stall-ms=600000]]");
    await simulator.until(
      (report) => report.cascades.some((one) => one.cascadeId === id && one.steps === 4),
      patience(),
    );
    await send(simulator, "echo: two", { cascadeId: id });
    const busy = (await simulator.report()).cascades.find((one) => one.cascadeId === id);
    expect(busy?.status).toBe("busy");
    const { trajectory } = await clientOf(simulator).getCascadeTrajectory({ cascadeId: id });
    expect(trajectory?.messageQueue).toHaveLength(1);
    await clientOf(simulator).cancelCascadeInvocation({ cascadeId: id });
    await simulator.until(
      (report) => report.cascades.some((one) => one.cascadeId === id && one.turnsEnded === 2),
      patience(),
    );
    const report = await simulator.report();
    expect(report.cancels).toEqual([id]);
    expect(report.messages.at(-1)?.queued).toBe(true);
    expect(answerOf((await clientOf(simulator).getCascadeTrajectorySteps({ cascadeId: id })).steps)).toBe("two");
  });

  it("run a hundred cascades at once", async () => {
    const sent = await Promise.all(Array.from({ length: 100 }, (_, i) => send(simulator, `echo: turn ${i}`)));
    const answers = await Promise.all(sent.map(async (id) => answerOf(await finalSteps(simulator, id))));
    expect(answers).toEqual(Array.from({ length: 100 }, (_, i) => `turn ${i}`));
  });

  it("turn an unknown key into a failed turn", async () => {
    const client = clientOf(simulator);
    const metadata = { ...metadataOf(simulator), apiKey: "sk-ws-01-another" };
    const { cascadeId: id } = await client.startCascade({ metadata });
    await client.sendUserCascadeMessage(
      message({
        cascadeId: id,
        metadata,
        cascadeConfig: { plannerConfig: { ...planner, requestedModelUid: "swe-1-6" } },
      }),
    );
    expect((await finalSteps(simulator, id)).at(-1)?.step).toMatchObject({
      case: "errorMessage",
      value: { error: { userErrorMessage: expect.stringContaining("an internal error occurred") } },
    });
  });
});

describe("other builds and accounts", () => {
  it("1.9544 passes the token as a flag, wants a trusted workspace, and has neither transcript nor archive", async () => {
    await using simulator = await startSimulator({ profile: "windsurf-1.9544", turn: { rate: "instant" } });
    const client = clientOf(simulator);
    const metadata = metadataOf(simulator);
    await client.initializeCascadePanelState({ metadata });
    expect((await refusal(client.startCascade({ metadata }))).text).toBe("untrusted workspace");
    await client.initializeCascadePanelState({ metadata, workspaceTrusted: true });
    const { cascadeId } = await client.startCascade({ metadata });
    for (const rpc of ["GetCascadeTranscriptForTrajectoryId", "ArchiveCascadeTrajectory"]) {
      expect(await postJson(simulator, rpc, { cascadeId })).toMatchObject({
        status: 404,
        body: "404 page not found\n",
      });
    }
    expect((await refusal(client.archiveCascadeTrajectory({ cascadeId }))).code).toBe(Code.Unimplemented);
  });

  it("1.8 answers raw chat, with errors inside the stream, and knows no cascade", async () => {
    await using simulator = await startSimulator({ profile: "windsurf-1.8", turn: { rate: "instant", chunk: 2 } });
    const client = clientOf(simulator);
    const ask = async (text: string) => {
      const said: string[] = [];
      let isError = false;
      const stream = client.rawGetChatMessage({
        metadata: metadataOf(simulator),
        chatMessages: [{ content: { case: "intent", value: { intent: { case: "generic", value: { text } } } } }],
        chatModel: 391,
      });
      for await (const { deltaMessage } of stream) {
        said.push(deltaMessage?.text ?? "");
        isError ||= deltaMessage?.isError ?? false;
      }
      return { text: said.join(""), isError };
    };
    expect(await ask("count to 3")).toEqual({ text: "1, 2, 3", isError: false });
    expect(await ask("count to 3 [[sim: error=high_demand]]")).toMatchObject({
      text: expect.stringContaining("high demand"),
      isError: true,
    });
    expect((await refusal(client.startCascade({ metadata: metadataOf(simulator) }))).code).toBe(Code.Unimplemented);
  });

  it("a server can refuse metadata that is not the editor's", async () => {
    await using simulator = await startSimulator({
      strictMetadata: true,
    });
    const call = clientOf(simulator).initializeCascadePanelState({ metadata: metadataOf(simulator) });
    expect((await refusal(call)).text).toMatch(/^There was an error with your Cascade session/);
  });

  it("a plan that is used up refuses what costs, and a restart gives nothing back", async () => {
    await using simulator = await startSimulator({ plan: { shape: "percent", used: 99 }, turn: { rate: "instant" } });
    const left = async () =>
      (await clientOf(simulator).getUserStatus({ metadata: metadataOf(simulator) })).userStatus?.planStatus
        ?.dailyQuotaRemainingPercent;
    expect(await left()).toBe(1);
    await finalSteps(simulator, await send(simulator, "count to 3", { model: "MODEL_CLAUDE_4_5_OPUS" }));
    expect(await left()).toBe(0);
    await simulator.restart();
    expect(await left()).toBe(0);
    const refused = await finalSteps(simulator, await send(simulator, "hi", { model: "MODEL_CLAUDE_4_5_OPUS" }));
    expect(refused.at(-1)?.step).toMatchObject({
      case: "errorMessage",
      value: { error: { userErrorMessage: expect.stringContaining("usage quota has been exhausted") } },
    });
    expect((await clientOf(simulator).checkUserMessageRateLimit({})).hasCapacity).toBe(false);
    const free = await finalSteps(simulator, await send(simulator, "count to 3", { model: "swe-1-6" }));
    expect(answerOf(free)).toBe("1, 2, 3");
    await simulator.setPlan({ unknown: true });
    expect(
      (await clientOf(simulator).getUserStatus({ metadata: metadataOf(simulator) })).userStatus?.planStatus,
    ).toBeUndefined();
  });

  it("a signed-out IDE has no account and no key", async () => {
    await using simulator = await startSimulator({ signedOut: true });
    const call = clientOf(simulator).initializeCascadePanelState({ metadata: metadataOf(simulator) });
    expect((await refusal(call)).text).toBe("user status is nil");
  });
});
