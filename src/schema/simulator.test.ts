import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { extensionBundle, schemaFiles, shiftedSchema } from "../../simulator/parts.ts";
import { systemClock } from "../base/clock.ts";
import type { ModelUid } from "../base/ids.ts";
import { createWireIds } from "../language-server/metadata.ts";
import { openLanguageServer } from "../language-server/open-language-server.ts";
import type { SpokenSchema } from "../language-server/spoken-schema.ts";
import type { WireProtocol } from "../language-server/transport/endpoint.ts";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";
import { readBundle } from "./read-bundle.ts";
import { type Reconciliation, reconcileSchema } from "./reconcile.ts";

const never = new AbortController().signal;
const ids = createWireIds(systemClock);

it("a build of the stand-in IDE with our own numbers is taken unchanged", async () => {
  const types = await readBundle(extensionBundle(schemaFiles()));
  expect(reconcileSchema(types)).toMatchObject({ verdict: "same", differences: [] });
});

/** The stand-in IDE writes its bundle from the facts and by itself: what we read of it is what it meant, or not. */
describe("a build of the stand-in IDE with numbers of its own", () => {
  const schemaSeed = 7;
  let simulator: Simulator;
  let bundle: string;
  let spoken: Reconciliation;

  beforeAll(async () => {
    simulator = await startSimulator({ schemaSeed, turn: { rate: "instant" } });
    bundle = await readFile(join(simulator.layout.extension, "dist", "extension.js"), "utf8");
    spoken = reconcileSchema(await readBundle(bundle));
  });
  afterAll(() => simulator.stop());

  it("says in its extension what it speaks, and we read it to the last field", async () => {
    const { messages } = await readBundle(bundle);
    const shifted = shiftedSchema(schemaSeed);
    for (const [typeName, fields] of messages) {
      const numbers = shifted.getMessage(typeName)?.fields.map(({ name, number }) => [name, number] as const);
      expect([...fields].map(([name, { number }]) => [name, number])).toEqual(numbers);
    }
    expect(messages.size).toBeGreaterThan(150);
  });

  it.each(["grpc", "connect", "connect-json"] as const)(
    "is prompted and read over %s in its own numbers",
    async (protocol) => {
      expect(spoken.verdict).toBe("moved");
      expect(await firstAnswer(protocol, spoken)).toMatch(/\S/);
    },
  );

  it("is not understood with our own numbers", async () => {
    await expect(firstAnswer("grpc", { service: LanguageServerService, interceptors: [] })).rejects.toThrow(/./);
  });

  async function firstAnswer(protocol: WireProtocol, dialect: SpokenSchema): Promise<string> {
    const { port, csrfToken, apiKey, ideVersion } = simulator;
    const server = openLanguageServer(
      { variant: "windsurf", host: "127.0.0.1", port, tls: false, protocol, csrfToken },
      { variant: "windsurf", ideVersion, extensionVersion: "", extensionPath: simulator.layout.extension, apiKey },
      { clock: systemClock, ids, readSpoken: async () => dialect },
    );
    try {
      expect(await server.capabilities(never)).toMatchObject({ cascade: true, steps: true });
      const cascadeId = await server.startCascade(never);
      const prompt = {
        text: "Say hello.",
        instructions: "",
        images: [],
        modelNumber: undefined,
        maxOutputTokens: undefined,
      };
      await server.sendUserMessage({ cascadeId, ...prompt, modelUid: "MODEL_CLAUDE_4_5_OPUS" as ModelUid }, never);
      for (;;) {
        const { executors } = await server.getStatus(cascadeId, never);
        if (executors.length > 0) break;
      }
      const steps = await server.getSteps(cascadeId, 0, never);
      const answer = steps.find((step) => step.step.case === "plannerResponse")?.step.value;
      return answer?.$typeName === "exa.cortex_pb.CortexStepPlannerResponse" ? answer.response : "";
    } finally {
      server.close();
    }
  }
});
