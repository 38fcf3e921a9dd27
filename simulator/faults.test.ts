import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { answerOf, clientOf, finalSteps, postJson, send } from "./rpc-client.fake.ts";
import { type Simulator, startSimulator } from "./start.ts";

describe("faults on demand", () => {
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator({ turn: { rate: "instant" } });
  });
  afterAll(async () => {
    await simulator.stop();
  });
  beforeEach(async () => {
    await simulator.setFaults([]);
    await simulator.setTurn({ rate: "instant" });
  });

  async function codeOf(call: Promise<unknown>): Promise<string> {
    return await call.then(
      () => "ok",
      (cause: unknown) => Code[ConnectError.from(cause).code] ?? "none",
    );
  }
  const ping = () => codeOf(clientOf(simulator).getStatus({}));
  const status = async () => (await postJson(simulator, "GetStatus", {})).status;

  it("fail the calls they name, after those they let pass, as often as they say", async () => {
    await simulator.setFaults([
      { rpc: "GetStatus", skip: 1, times: 2, error: { code: "unavailable", message: "busy" } },
    ]);
    expect([await ping(), await ping(), await ping(), await ping()]).toEqual([
      "ok",
      "Unavailable",
      "Unavailable",
      "ok",
    ]);
    expect(await codeOf(clientOf(simulator).heartbeat({}))).toBe("ok");
  });

  it("come over Connect with the HTTP status of their code", async () => {
    await simulator.setFaults([{ rpc: "*", error: { code: "resource_exhausted", message: "slow down" } }]);
    const answer = await postJson(simulator, "GetStatus", {});
    expect(answer.status).toBe(429);
    expect(JSON.parse(answer.body)).toEqual({ code: "resource_exhausted", message: "slow down" });
  });

  it("can lose an answer after its effect", async () => {
    await simulator.setFaults([
      { rpc: "SendUserCascadeMessage", times: 1, errorAfter: { code: "unavailable", message: "connection lost" } },
    ]);
    await expect(send(simulator, "echo: heard")).rejects.toThrow("connection lost");
    const { messages } = await simulator.report();
    expect(messages.at(-1)?.text).toBe("echo: heard");
  });

  it("can take an RPC away", async () => {
    await simulator.setFaults([{ rpc: "GetStatus", missing: true }]);
    expect(await ping()).toBe("Unimplemented");
    expect(await status()).toBe(404);
  });

  it("can refuse the token", async () => {
    await simulator.setFaults([{ rpc: "GetStatus", times: 1, csrf: true }]);
    expect(await status()).toBe(401);
  });

  it("can delay and can hang", async () => {
    await simulator.setFaults([
      { rpc: "GetStatus", times: 1, delayMs: 20 },
      { rpc: "GetStatus", skip: 1, hang: true },
    ]);
    expect(await ping()).toBe("ok");
    expect(await codeOf(clientOf(simulator).getStatus({}, { timeoutMs: 50 }))).toBe("DeadlineExceeded");
  });

  it.each(["grpc", "connect", "connect-json"] as const)(
    "can drop a %s connection after some bytes of an answer",
    async (wire) => {
      const cascadeId = await send(simulator, "write 100000 characters");
      await finalSteps(simulator, cascadeId);
      await simulator.setFaults([{ rpc: "GetCascadeTrajectorySteps", times: 1, dropAfterBytes: 200 }]);
      const client = clientOf(simulator, wire);
      expect(await codeOf(client.getCascadeTrajectorySteps({ cascadeId }))).not.toBe("ok");
      expect(answerOf((await client.getCascadeTrajectorySteps({ cascadeId })).steps)).toHaveLength(100_000);
    },
  );

  it("refuse to be set wrongly", async () => {
    await expect(simulator.setFaults([{ rpc: "GetStatus" }])).rejects.toThrow("give exactly one of");
    await expect(simulator.setTurn({ rate: -1 })).rejects.toThrow("rate");
  });

  it.each([
    ["rate_limit", "Reached message rate limit"],
    ["high_demand", "high demand"],
    ["quota", "usage quota"],
    ["content_policy", "content policy"],
    ["invalid_tool_call", "The model produced an invalid tool call."],
    ["internal", "an internal error occurred (error ID: "],
    ["too_long", "could not convert a single message before hitting truncation"],
    ["canceled_stream", "pending stream has been canceled"],
  ])("show %s as an error step", async (error, text) => {
    const steps = await finalSteps(simulator, await send(simulator, `hi [[sim: error=${error}]]`));
    expect(steps.at(-1)?.step).toMatchObject({
      case: "errorMessage",
      value: { error: { userErrorMessage: expect.stringContaining(text) } },
    });
  });

  it("can come back on the call that sends", async () => {
    await simulator.setTurn({ error: "quota", errorAt: "send" });
    await expect(send(simulator, "hi")).rejects.toMatchObject({ code: Code.ResourceExhausted });
    const { messages } = await simulator.report();
    expect(messages.some((message) => message.text === "hi")).toBe(false);
  });

  it("count once: a directive in the history that a client writes out is over", async () => {
    const history = '<conversation>\n<message role="user">\nhi [[sim: error=quota]]\n</message>\n</conversation>';
    const steps = await finalSteps(simulator, await send(simulator, `So far:\n\n${history}\n\ncount to 3`));
    expect(answerOf(steps)).toBe("1, 2, 3");
  });

  it("report a mistyped directive", async () => {
    const steps = await finalSteps(simulator, await send(simulator, "hi [[sim: eror=quota]]"));
    expect(steps.at(-1)?.step).toMatchObject({
      value: {
        error: { userErrorMessage: expect.stringMatching(/^simulator: a directive in the prompt is wrong: eror/) },
      },
    });
  });
});
