import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { platform } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LanguageServerService } from "../src/proto/windsurf/exa/language_server_pb.ts";
import { postJson } from "./rpc-client.fake.ts";
import { type Simulator, startSimulator } from "./start.ts";

interface QuotaInfo {
  readonly remainingFraction?: number;
  readonly resetTime?: string;
}

async function quotas(simulator: Simulator): Promise<ReadonlyMap<string, QuotaInfo | undefined>> {
  const { body } = await postJson(simulator, "GetUserStatus", { metadata: { ideName: "antigravity" } });
  const { clientModelConfigs } = JSON.parse(body).userStatus.cascadeModelConfigData;
  return new Map(
    clientModelConfigs.map((config: { label: string; quotaInfo?: QuotaInfo }) => [config.label, config.quotaInfo]),
  );
}

describe("the Antigravity profile", () => {
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator({ profile: "antigravity", plan: { shape: "pools", used: 40, usedWeekly: 20 } });
  });
  afterAll(async () => {
    await simulator.stop();
  });

  it.runIf(platform() === "linux")(
    "looks like its process: own folders and flags, the token in the command line",
    () => {
      const argv = readFileSync(`/proc/${simulator.pid}/cmdline`, "utf8").split("\0");
      expect(argv[0]).toContain("/extensions/antigravity/bin/language_server_");
      const after = (flag: string) => argv[argv.indexOf(flag) + 1];
      expect(after("--csrf_token")).toBe(simulator.csrfToken.reveal());
      expect(after("--extension_server_csrf_token")).not.toBe(simulator.csrfToken.reveal());
      expect(after("--app_data_dir")).toBe("antigravity");
      expect(argv).not.toContain("--ide_name");
      expect(simulator.layout.stateDatabase).toMatch(/Antigravity/);
    },
  );

  it("answers on TLS and, one port later, without", async () => {
    expect(simulator.port).toBe((simulator.tlsPort ?? 0) + 1);
    const cert = readFileSync(join(simulator.layout.extension, "dist", "languageServer", "cert.pem"));
    const transport = createConnectTransport({
      baseUrl: `https://127.0.0.1:${simulator.tlsPort}`,
      httpVersion: "2",
      nodeOptions: { ca: cert },
      interceptors: [
        (next) => (request) => {
          request.header.set("x-codeium-csrf-token", simulator.csrfToken.reveal());
          return next(request);
        },
      ],
    });
    await createClient(LanguageServerService, transport).getUnleashData({});
    expect((await postJson(simulator, "GetUnleashData", {})).status).toBe(200);
  });

  it("is refused by a client that does not trust its certificate, over HTTP/1.1 too", async () => {
    const refused = new Promise<NodeJS.ErrnoException>((resolve) => {
      https.get({ host: "127.0.0.1", port: simulator.tlsPort }).on("error", resolve);
    });
    expect((await refused).code).toBe("DEPTH_ZERO_SELF_SIGNED_CERT");
  });

  it("answers plain HTTP on the TLS port with an error", async () => {
    const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
      http.get({ host: "127.0.0.1", port: simulator.tlsPort, path: "/" }, resolve).on("error", reject);
    });
    expect(answer.statusCode).toBe(400);
    answer.setEncoding("utf8");
    let text = "";
    for await (const chunk of answer) text += String(chunk);
    expect(text).toBe("Client sent an HTTP request to an HTTPS server.\n");
  });

  it("needs no API key, but its token", async () => {
    expect((await postJson(simulator, "GetUserStatus", {})).status).toBe(200);
    const refused = await postJson(simulator, "GetUserStatus", {}, { "x-codeium-csrf-token": "wrong" });
    expect(refused).toMatchObject({ status: 401, body: '{"code":"unauthenticated","message":"invalid CSRF token"}' });
  });

  it("reports a fraction for each metered model, and pools", async () => {
    const told = await quotas(simulator);
    expect(told.get("Gemini 3.1 Pro (High)")).toMatchObject({ remainingFraction: 0.6 });
    expect(told.get("Claude Sonnet 4.6 (Thinking)")).toMatchObject({ remainingFraction: 0.8 });
    expect(told.get("Gemini 2.5 Flash Lite")).toBeUndefined();
    const { response } = JSON.parse((await postJson(simulator, "RetrieveUserQuotaSummary", {})).body);
    expect(response.groups[0]).toMatchObject({
      displayName: "Gemini models",
      buckets: [
        { bucketId: "gemini-5h", remaining: { remainingFraction: 0.6 } },
        { bucketId: "gemini-weekly", remaining: { remainingFraction: 0.8 } },
      ],
    });
  });

  it("leaves zeros out when it is exhausted, reports nothing when the plan is unknown, and has no pools in a plain editor", async () => {
    await simulator.setPlan({ used: 100 });
    const exhausted = (await quotas(simulator)).get("Gemini 3.1 Pro (High)");
    expect(exhausted).toHaveProperty("resetTime");
    expect(exhausted).not.toHaveProperty("remainingFraction");
    await simulator.setPlan({ unknown: true });
    expect([...(await quotas(simulator)).values()].every((told) => told === undefined)).toBe(true);
    await simulator.setPlan({ shape: "fractions", used: 40 });
    expect((await postJson(simulator, "RetrieveUserQuotaSummary", {})).status).toBe(404);
  });

  it("drains the pool of the model that the user ran in the IDE, in both windows", async () => {
    await simulator.setPlan({ shape: "pools", used: 40, usedWeekly: 20, drain: 2 });
    await simulator.spend({ model: "Gemini 3 Flash", credits: 10 });
    const told = await quotas(simulator);
    expect(told.get("Gemini 3.1 Pro (High)")).toMatchObject({ remainingFraction: 0.4 });
    expect(told.get("Claude Sonnet 4.6 (Thinking)")).toMatchObject({ remainingFraction: 0.8 });
    await simulator.spend({ model: "GPT-OSS 120B (Medium)", credits: 40 });
    const { response } = JSON.parse((await postJson(simulator, "RetrieveUserQuotaSummary", {})).body);
    expect(response.groups).toMatchObject([
      { buckets: [{ remaining: { remainingFraction: 0.4 } }, { remaining: { remainingFraction: 0.75 } }] },
      { buckets: [{ remaining: {} }, { remaining: { remainingFraction: 0.6 } }] },
    ]);
    await simulator.setPlan({ shape: "pools", used: 40, usedWeekly: 20 });
  });

  it("takes no prompt and shows that one was tried", async () => {
    const before = (await simulator.report()).calls["SendUserCascadeMessage"] ?? 0;
    expect((await postJson(simulator, "SendUserCascadeMessage", {})).status).toBe(400);
    expect((await simulator.report()).calls["SendUserCascadeMessage"]).toBe(before + 1);
    expect((await postJson(simulator, "GetCascadeTranscriptForTrajectoryId", {})).status).toBe(404);
  });

  it("reports only its own forms of a plan", async () => {
    await expect(startSimulator({ profile: "antigravity", plan: { shape: "credits" } })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });
});
