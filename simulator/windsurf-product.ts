import { randomBytes, randomUUID } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { createContextKey, createContextValues, type Interceptor } from "@connectrpc/connect";
import { compressionGzip, connectNodeAdapter } from "@connectrpc/connect-node";
import type { Clock } from "../src/base/clock.ts";
import { LanguageServerService } from "../src/proto/windsurf/exa/language_server_pb.ts";
import { Account } from "./account/account.ts";
import { initialUse, Plan, type PlanUse } from "./account/plan.ts";
import { type Encode, StateDatabase } from "./account/state-database.ts";
import type { StartOrder } from "./control.ts";
import { rpcError } from "./faults/error-texts.ts";
import type { RpcFault } from "./faults/rpc-fault.ts";
import { Gate } from "./model/gate.ts";
import type { CascadeLife } from "./options.ts";
import type { Product } from "./product.ts";
import { cascadeRpcs, profiles } from "./profile.ts";
import type { Observations } from "./report.ts";
import type { RpcContext } from "./rpc/context.ts";
import { languageServerRpcs } from "./rpc/routes.ts";
import { shiftedSchema } from "./schema/shift.ts";
import { encodeShifted, speakShifted } from "./schema/speak-shifted.ts";
import { Cascades } from "./trajectory/cascades.ts";
import { TrajectoryFiles } from "./trajectory/trajectory-files.ts";
import { faultAfterHandler, toConnectError } from "./wire/guard.ts";

/** The server's calls to its editor. */
export interface EditorSide {
  /** Asks to be replaced by a new process. */
  restart(): void;
  /** The plan has less left; the next process starts from here. */
  spent(use: PlanUse): void;
}

const faultKey = createContextKey<RpcFault | undefined>(undefined);

/** Windsurf's language server: the account in its state database, the conversations on disk, and every RPC. */
export async function windsurfProduct(
  order: StartOrder,
  clock: Clock,
  observations: Observations,
  editor: EditorSide,
): Promise<Product> {
  const { config } = order;
  const profile = profiles[config.profile];
  const plan = new Plan(order.plan, order.planUse ?? initialUse(order.plan, clock.now()));
  const { apiKey } = order;
  const person = { apiKey, signedIn: !config.signedOut, isOld: profile.isOld, models: config.models };
  const account = new Account(person, plan);
  const schema = config.schemaSeed === 0 ? undefined : shiftedSchema(config.schemaSeed);
  const encode: Encode = (desc, message) =>
    schema === undefined ? toBinary(desc, message) : encodeShifted(schema, desc, message);
  const database = new StateDatabase(order.stateDatabase, encode, profile.devin === undefined);
  const writeAccount = () => {
    const status = account.signedIn ? account.status(clock.now()) : undefined;
    database.writeAccount(order.apiKey, status, order.installationId);
  };
  writeAccount();
  const spend = (hundredths: number) => {
    account.plan.spend(hundredths, clock.now());
    editor.spent(account.plan.use(clock.now()));
    writeAccount();
  };

  const files = new TrajectoryFiles(order.cascades, randomBytes);
  const gate = new Gate();
  const cascades = new Cascades({
    files,
    observations,
    workspaceUri: order.workspaceUri,
    services: { clock, newId: randomUUID, restart: () => editor.restart(), spend, gate },
  });
  await cascades.load();

  const context: RpcContext = {
    config,
    profile,
    account,
    cascades,
    observations,
    clock,
    newId: randomUUID,
    spend,
    panel: { initialized: false, trusted: false },
    turnDefaults: { current: order.turn },
  };
  const rpcs = languageServerRpcs(context);
  const missing = new Set([...profile.missing, ...config.missing]);
  const methods = new Set(LanguageServerService.methods.map((method) => method.name));
  return {
    knows: (rpc) => methods.has(rpc) && !missing.has(rpc),
    handler: connectNodeAdapter({
      routes: (router) => {
        if (schema === undefined) router.service(LanguageServerService, rpcs);
        else speakShifted(router, schema, rpcs);
      },
      contextValues: (request) => createContextValues().set(faultKey, faultAfterHandler(request)),
      interceptors: [retire(config.cascade ?? "on"), observePolls(observations), failAfterwards],
      acceptCompression: [compressionGzip],
      compressMinBytes: 1024,
      readMaxBytes: 64 * 1024 * 1024,
    }),
    tls: false,
    cascades: () => cascades.report(),
    calls: {
      setTurn(turn) {
        context.turnDefaults.current = turn;
      },
      setPlan(options) {
        account.plan = new Plan(options, initialUse(options, clock.now()));
        writeAccount();
      },
      release: () => gate.release(),
      spend: ({ credits }) => spend(Math.round(credits * 100)),
    },
    async close() {
      await files.settled();
      database.close();
    },
  };
}

/** Refuses Cascade as builds do that have retired it. Source: docs/dev/wire/acp.md, "What became of Cascade". */
function retire(cascade: CascadeLife): Interceptor {
  return (next) => (request) => {
    const { name } = request.method;
    if (cascade === "retired" && asking.has(name)) throw rpcError("devin_local");
    if (cascade === "removed" && cascadeRpcs.includes(name)) throw rpcError("removed");
    return next(request);
  };
}

const asking = new Set(["StartCascade", "SendUserCascadeMessage", "QueueCascadeMessage"]);

/** Lets the handler do its work and loses its answer. */
const failAfterwards: Interceptor = (next) => async (request) => {
  const response = await next(request);
  const fault = request.contextValues.get(faultKey);
  if (fault?.errorAfter !== undefined) throw toConnectError(fault.errorAfter);
  return response;
};

const polls = new Set(["GetCascadeTrajectory", "GetCascadeTrajectorySteps", "GetCascadeTranscriptForTrajectoryId"]);

/** Counts the polls of one cascade that are answered at the same time. */
function observePolls(observations: Observations): Interceptor {
  return (next) => async (request) => {
    if (request.stream || !polls.has(request.method.name) || !("cascadeId" in request.message)) {
      return await next(request);
    }
    const ends = observations.pollBegins(String(request.message.cascadeId));
    try {
      return await next(request);
    } finally {
      ends();
    }
  };
}
