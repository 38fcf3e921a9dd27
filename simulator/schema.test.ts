import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { create, type DescMessage, type DescMethodUnary, type FileRegistry } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MetadataSchema } from "../src/proto/windsurf/exa/codeium_common_pb.ts";
import { LanguageServerService } from "../src/proto/windsurf/exa/language_server_pb.ts";
import { clientOf, metadataOf, patience } from "./rpc-client.fake.ts";
import { extensionBundle } from "./schema/bundle.ts";
import { schemaFiles, shiftedSchema } from "./schema/shift.ts";
import { type Simulator, startSimulator } from "./start.ts";

/** A field as protobuf-es v1 lists it. */
interface ListedField {
  readonly no: number;
  readonly name: string;
  readonly kind: string;
  readonly repeated?: boolean;
  readonly opt?: boolean;
  readonly oneof?: string;
}
type Bundle = Record<string, { readonly typeName: string; readonly fields: { readonly list: () => ListedField[] } }>;

function numbersOf(message: DescMessage): Record<string, number> {
  return Object.fromEntries(message.fields.map((field) => [field.name, field.number]));
}

/** Runs a bundle as Node would, for what its entry exports. */
function evaluate(code: string): Bundle {
  const module = { exports: {} };
  runInNewContext(code, { module });
  return module.exports;
}

describe("a shifted schema", () => {
  it("moves most numbers and keeps names, types and the set of numbers", () => {
    const before = MetadataSchema;
    const after = shiftedSchema(7).getMessage(before.typeName);
    if (after === undefined) throw new Error("the message is gone");
    const numbers = numbersOf(before);
    const moved = after.fields.filter((field) => field.number !== numbers[field.name]);
    expect(moved.length).toBeGreaterThan(before.fields.length / 2);
    expect(new Set(after.fields.map((field) => field.number))).toEqual(new Set(Object.values(numbers)));
    expect(after.fields.map((field) => [field.name, field.fieldKind])).toEqual(
      expect.arrayContaining(before.fields.map((field) => [field.name, field.fieldKind])),
    );
  });

  it("is the same for the same seed, and another for another", () => {
    const numbers = (schema: FileRegistry) =>
      schema.getMessage(MetadataSchema.typeName)?.fields.map((field) => field.number);
    expect(numbers(shiftedSchema(7))).toEqual(numbers(shiftedSchema(7)));
    expect(numbers(shiftedSchema(8))).not.toEqual(numbers(shiftedSchema(7)));
  });
});

describe("the extension's bundle", () => {
  it.each([0, 7])("is code that runs and says the numbers of its schema (seed %i)", (seed) => {
    const files = seed === 0 ? schemaFiles() : [...shiftedSchema(seed).files];
    const exported = evaluate(extensionBundle(files));
    const messages = files.at(-1)?.messages ?? [];
    expect(messages.length).toBeGreaterThan(40);
    for (const message of messages) {
      const listed = exported[message.name];
      expect(listed?.typeName).toBe(message.typeName);
      expect(Object.fromEntries(listed?.fields.list().map((field) => [field.name, field.no]) ?? [])).toEqual(
        numbersOf(message),
      );
    }
    const send = exported["SendUserCascadeMessageRequest"]?.fields.list();
    expect(send?.find((field) => field.name === "items")).toMatchObject({ kind: "message", repeated: true });
    const all = exported["GetAllCascadeTrajectoriesRequest"]?.fields.list();
    expect(all).toMatchObject([{ name: "include_user_inputs", kind: "scalar", T: 8, opt: true }]);
    const summaries = exported["GetAllCascadeTrajectoriesResponse"]?.fields.list();
    expect(summaries?.find((field) => field.kind === "map")).toMatchObject({ K: 9, V: { kind: "message" } });
  });
});

describe("a build that speaks a shifted schema", () => {
  const seed = 20_261_121;
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator({ schemaSeed: seed, turn: { rate: "instant" } });
  });
  afterAll(async () => {
    await simulator.stop();
  });

  it("ships the bundle that says how", () => {
    const bundle = readFileSync(join(simulator.layout.extension, "dist", "extension.js"), "utf8");
    expect(bundle).toBe(extensionBundle([...shiftedSchema(seed).files]));
  });

  it("does not understand the numbers of other builds", async () => {
    const call = clientOf(simulator).getUserStatus({ metadata: metadataOf(simulator) });
    await expect(call).rejects.toThrow(/api_key not set|invalid|parse|wire/i);
  });

  it.each(["grpc", "connect"])("runs a turn for a client of its own schema over %s", async (wire) => {
    const service = shiftedSchema(seed).getService(LanguageServerService.typeName);
    if (service === undefined) throw new Error("the service is gone");
    const csrf: Interceptor = (next) => (request) => {
      request.header.set("x-codeium-csrf-token", simulator.csrfToken.reveal());
      return next(request);
    };
    const options = { baseUrl: `http://127.0.0.1:${simulator.port}`, interceptors: [csrf] };
    const transport =
      wire === "grpc" ? createGrpcTransport(options) : createConnectTransport({ ...options, httpVersion: "1.1" });
    const method = (name: string): DescMethodUnary => {
      const found = service.methods.find(
        (one): one is DescMethodUnary => one.name === name && one.methodKind === "unary",
      );
      if (found === undefined) throw new Error(`no unary ${name}`);
      return found;
    };
    const call = async (name: string, request: Record<string, unknown>) => {
      const { message } = await transport.unary(
        method(name),
        undefined,
        undefined,
        undefined,
        create(method(name).input, request),
      );
      return message as unknown as Record<string, unknown>;
    };
    const metadata = { ideName: "windsurf", apiKey: simulator.apiKey.reveal() };
    await call("InitializeCascadePanelState", { metadata });
    const { cascadeId } = await call("StartCascade", { metadata });
    await call("SendUserCascadeMessage", {
      metadata,
      cascadeId,
      items: [{ chunk: { case: "text", value: "echo: shifted" } }],
      cascadeConfig: {
        plannerConfig: { plannerTypeConfig: { case: "conversational", value: {} }, requestedModelUid: "swe-1-6" },
      },
    });
    await simulator.until(
      (report) => report.cascades.some((one) => one.cascadeId === cascadeId && one.turnsEnded > 0),
      patience(),
    );
    const { transcript } = await call("GetCascadeTranscriptForTrajectoryId", { cascadeId });
    expect(transcript).toContain("=== MESSAGE 3 - Assistant ===\nshifted\n");
    const { steps } = await call("GetCascadeTrajectorySteps", { cascadeId });
    expect(steps).toHaveLength(5);
    const { messages } = await simulator.report();
    expect(messages.at(-1)).toMatchObject({ text: "echo: shifted", modelUid: "swe-1-6" });
  });

  it("still answers JSON, whose names did not move", async () => {
    const json = clientOf(simulator, "connect-json");
    const { userStatus } = await json.getUserStatus({ metadata: metadataOf(simulator) });
    expect(userStatus?.email).toBe("simulator@example.com");
  });
});
