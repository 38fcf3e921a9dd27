import {
  create,
  type DescFile,
  type FileRegistry,
  fromBinary,
  fromJson,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CascadePlannerConfigSchema, CascadeRunStatus } from "../proto/windsurf/exa/cortex_pb.ts";
import {
  type GetCascadeTrajectoryResponse,
  GetCascadeTrajectoryResponseSchema,
  GetUserStatusResponseSchema,
  LanguageServerService,
  SendUserCascadeMessageRequestSchema,
} from "../proto/windsurf/exa/language_server_pb.ts";
import { usualSpelling, writeBundle } from "./bundle.fake.ts";
import { readBundle } from "./read-bundle.ts";
import { reconcileSchema } from "./reconcile.ts";
import { type Shift, shifted } from "./shifted.fake.ts";

const files: readonly DescFile[] = [LanguageServerService.file];

/** What a gateway reads from the bundle of this build. */
async function reconciled(build: FileRegistry) {
  const own = [...build.files].filter(({ proto }) => proto.package.startsWith("exa."));
  return reconcileSchema(await readBundle(writeBundle(own, "static", usualSpelling)));
}
const asIs: Shift = { field: (_, __, number) => number, value: (_, __, number) => number };
/** Every field moved, each to a number of its own. */
const allMoved: Shift = { ...asIs, field: (_, __, number) => number + 700 };

describe("a build with our numbers", () => {
  it("is spoken to as it is", async () => {
    const found = await reconciled(shifted(files, asIs));
    expect(found).toEqual({ service: LanguageServerService, interceptors: [], verdict: "same", differences: [] });
  });
});

describe("a build with other numbers", () => {
  it("is spoken to in its own, with our messages", async () => {
    const build = shifted(files, allMoved);
    const { service, verdict, interceptors } = await reconciled(build);
    expect([verdict, interceptors.length]).toEqual(["moved", 0]);
    const message = create(SendUserCascadeMessageRequestSchema, {
      cascadeId: "c",
      items: [{ chunk: { case: "text", value: "hello" } }],
      cascadeConfig: {
        plannerConfig: { requestedModelUid: "m", plannerTypeConfig: { case: "conversational", value: {} } },
      },
    });
    const input = service.method.sendUserCascadeMessage.input;
    const bytes = toBinary(input, message);
    const theirs = build.getMessage(SendUserCascadeMessageRequestSchema.typeName);
    if (theirs === undefined) throw new Error("the build has no such message");
    expect(toJson(theirs, fromBinary(theirs, bytes))).toEqual(toJson(SendUserCascadeMessageRequestSchema, message));
    expect(fromBinary(input, bytes)).toEqual(message);
    expect(toBinary(SendUserCascadeMessageRequestSchema, message)).not.toEqual(bytes);
  });

  it("is understood after any permutation of its numbers", async () => {
    const json = {
      userStatus: { name: "Ada", planStatus: { availablePromptCredits: 5000, planInfo: { planName: "Pro" } } },
      planInfo: { planName: "Pro", monthlyPromptCredits: 7 },
    };
    const ours = fromJson(GetUserStatusResponseSchema, json);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 1000 }), async (turn, offset) => {
        const shift: Shift = { ...asIs, field: (_, __, number) => ((number * 61 + turn) % 1021) + offset };
        const build = shifted(files, shift);
        const theirs = build.getMessage(GetUserStatusResponseSchema.typeName);
        if (theirs === undefined) throw new Error("the build has no such message");
        const { service } = await reconciled(build);
        const bytes = toBinary(theirs, fromJson(theirs, json));
        expect(fromBinary(service.method.getUserStatus.output, bytes)).toEqual(ours);
      }),
      { numRuns: 5 },
    );
  });
});

describe("a build that lacks a field", () => {
  it("differs from a broken one: it has everything that Millrace needs", async () => {
    const without: Shift = {
      ...asIs,
      field: (_, name, number) => (name === "disabled_reason" ? undefined : number),
    };
    const { verdict, differences, service } = await reconciled(shifted(files, without));
    expect(verdict).toBe("same");
    expect(differences).toEqual([
      { where: "exa.codeium_common_pb.ClientModelConfig.disabled_reason", kind: "missing", loadBearing: false },
    ]);
    expect(service.method.getUserStatus.output.typeName).toBe(GetUserStatusResponseSchema.typeName);
  });

  it("is broken where it is load-bearing, and the field is not sent under a number that means something else", async () => {
    const without: Shift = {
      ...asIs,
      field(typeName, name, number) {
        if (!typeName.endsWith(".CascadePlannerConfig")) return number;
        return name === "requested_model_uid" ? undefined : name === "plan_model_uid" ? 35 : number;
      },
    };
    const { verdict, differences, service } = await reconciled(shifted(files, without));
    expect(verdict).toBe("broken");
    expect(differences).toEqual([
      {
        where: "exa.cortex_pb.CascadePlannerConfig.plan_model_uid",
        kind: "moved",
        ours: 34,
        theirs: 35,
        loadBearing: false,
      },
      { where: "exa.cortex_pb.CascadePlannerConfig.requested_model_uid", kind: "missing", loadBearing: true },
    ]);
    const config =
      service.method.sendUserCascadeMessage.input.field.cascadeConfig.message?.field["plannerConfig"]?.message;
    const planner = create(CascadePlannerConfigSchema, { requestedModelUid: "m", planModelUid: "p" });
    expect(config?.fields.filter((field) => field.number === 35).map((field) => field.name)).toEqual([
      "plan_model_uid",
    ]);
    expect(
      config === undefined ? "" : (fromBinary(config, toBinary(config, planner)) as Message & object),
    ).toMatchObject({
      planModelUid: "p",
    });
  });
});

describe("a build whose enum values moved", async () => {
  const moved: Shift = {
    ...asIs,
    value: (typeName, _, number) => (typeName.endsWith(".CascadeRunStatus") && number !== 0 ? number + 10 : number),
  };
  const build = shifted(files, moved);
  const { service, interceptors, differences, verdict } = await reconciled(build);

  /** A server that speaks the build's schema, dynamically. */
  function clientOfBuild(): Client<typeof LanguageServerService> {
    const theirs = build.getService(LanguageServerService.typeName);
    const answer = build.getMessage(GetCascadeTrajectoryResponseSchema.typeName);
    if (theirs === undefined || answer === undefined) throw new Error("the build has no such service");
    const transport = createRouterTransport(
      (router) => {
        router.service(theirs as typeof LanguageServerService, {
          getCascadeTrajectory: () =>
            fromJson(answer, {
              status: "CASCADE_RUN_STATUS_RUNNING",
              numTotalSteps: 3,
            }) as GetCascadeTrajectoryResponse,
          startCascade: () => {
            throw new ConnectError("no", Code.Unavailable);
          },
        });
      },
      { transport: { interceptors: [...interceptors] } },
    );
    return createClient(service, transport);
  }

  it("is reported, and its values arrive as ours", async () => {
    expect(verdict).toBe("moved");
    expect(differences.map(({ where, theirs }) => `${where.split(".").at(-1)} ${theirs}`)).toEqual([
      "CASCADE_RUN_STATUS_IDLE 11",
      "CASCADE_RUN_STATUS_RUNNING 12",
      "CASCADE_RUN_STATUS_CANCELING 13",
      "CASCADE_RUN_STATUS_BUSY 14",
    ]);
    const answer = await clientOfBuild().getCascadeTrajectory({ cascadeId: "c" });
    expect(answer.status).toBe(CascadeRunStatus.RUNNING);
    expect(answer.numTotalSteps).toBe(3);
  });

  it("passes errors as they are", async () => {
    await expect(clientOfBuild().startCascade({})).rejects.toThrow("no");
  });
});
