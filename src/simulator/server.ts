import { randomBytes, randomUUID } from "node:crypto";
import { createContextKey, createContextValues, type Interceptor } from "@connectrpc/connect";
import { compressionGzip, connectNodeAdapter } from "@connectrpc/connect-node";
import type { Clock } from "../base/clock.ts";
import { Account } from "./account/account.ts";
import { initialUse, Plan, type PlanUse } from "./account/plan.ts";
import type { PlanOptions } from "./account/plan-options.ts";
import { StateDatabase } from "./account/state-database.ts";
import type { StartOrder } from "./control.ts";
import { type RpcFault, RpcFaults } from "./faults/rpc-fault.ts";
import type { TurnPlan } from "./faults/turn-plan.ts";
import { helper } from "./model/helper.ts";
import { upstreamModel } from "./model/upstream.ts";
import { profiles } from "./profile.ts";
import { Observations, type Report } from "./report.ts";
import type { RpcContext } from "./rpc/context.ts";
import { languageServerRoutes } from "./rpc/routes.ts";
import { Cascades } from "./trajectory/cascades.ts";
import { TrajectoryFiles } from "./trajectory/trajectory-files.ts";
import { faultAfterHandler, guard, toConnectError } from "./wire/guard.ts";
import { listenForLsp, listenForRpc } from "./wire/listener.ts";

/** A language server that runs in this process. */
export interface Server {
  readonly rpcPort: number;
  readonly lspPort: number;
  readonly chatClientPort: number;
  report(newerThan: number | undefined): Promise<Report>;
  setFaults(faults: readonly RpcFault[]): void;
  setTurn(plan: TurnPlan): void;
  setPlan(plan: PlanOptions): void;
  close(): Promise<void>;
}

/** What the server tells its editor. */
export interface EditorSide {
  /** Asks to be replaced by a new process. */
  restart(): void;
  /** The plan has less left; the next process starts from here. */
  spent(use: PlanUse): void;
}

const faultKey = createContextKey<RpcFault | undefined>(undefined);

/** Builds the parts of the server and opens its three ports. */
export async function startServer(order: StartOrder, clock: Clock, editor: EditorSide): Promise<Server> {
  const { config } = order;
  const profile = profiles[config.profile];
  const observations = new Observations();
  const account = new Account(
    order.apiKey,
    !config.signedOut,
    new Plan(order.plan, order.planUse ?? initialUse(order.plan, clock.now())),
  );
  const database = new StateDatabase(order.stateDatabase);
  const writeAccount = () =>
    database.writeAccount(
      order.apiKey,
      account.signedIn ? account.status(clock.now()) : undefined,
      "codeium.windsurf",
      order.installationId,
    );
  writeAccount();
  const spend = (hundredths: number) => {
    account.plan.spend(hundredths, clock.now());
    editor.spent(account.plan.use(clock.now()));
    writeAccount();
  };

  const model =
    config.modelUrl === undefined ? helper : upstreamModel(config.modelUrl, config.modelName, config.modelKey);
  const files = new TrajectoryFiles(order.cascades, config.fileBytes, randomBytes);
  const cascades = new Cascades({
    files,
    observations,
    workspaceUri: order.workspaceUri,
    services: {
      clock,
      model,
      newId: randomUUID,
      restart: () => editor.restart(),
      spend,
    },
  });
  await cascades.load();

  const context: RpcContext = {
    config,
    profile,
    account,
    cascades,
    observations,
    model,
    clock,
    newId: randomUUID,
    spend,
    panel: { initialized: false, trusted: false },
    turnDefaults: { current: order.turn },
    ports: { lsp: 0, chatClient: 0 },
  };
  const faults = new RpcFaults();
  faults.replace(order.faults);

  const [lsp, chatClient] = await Promise.all([listenForLsp(), listenForLsp()]);
  Object.assign(context.ports, { lsp: lsp.port, chatClient: chatClient.port });
  const rpc = await listenForRpc(
    guard({
      csrfToken: order.csrfToken,
      csrfCode: config.csrfCode,
      missing: new Set([...profile.missing, ...config.missing]),
      faults,
      observations,
      clock,
      ready:
        config.slowStartMs === 0 ? Promise.resolve() : clock.sleep(config.slowStartMs, new AbortController().signal),
      next: connectNodeAdapter({
        routes: (router) => languageServerRoutes(router, context),
        contextValues: (request) => createContextValues().set(faultKey, faultAfterHandler(request)),
        interceptors: [observePolls(observations), failAfterwards],
        acceptCompression: config.gzip === "never" ? [] : [compressionGzip],
        compressMinBytes: config.gzip === "always" ? 0 : 1024,
        readMaxBytes: 64 * 1024 * 1024,
      }),
    }),
    (change) => {
      observations.connections.open += change;
      if (change === 1) observations.connections.accepted++;
      observations.changed();
    },
  );

  return {
    rpcPort: rpc.port,
    lspPort: lsp.port,
    chatClientPort: chatClient.port,
    async report(newerThan) {
      if (newerThan !== undefined) await observations.changedSince(newerThan);
      return observations.report(cascades.report());
    },
    setFaults: (next) => faults.replace(next),
    setPlan(plan) {
      account.plan = new Plan(plan, initialUse(plan, clock.now()));
      writeAccount();
    },
    setTurn: (plan) => {
      context.turnDefaults.current = plan;
    },
    async close() {
      await Promise.all([rpc.close(), lsp.close(), chatClient.close()]);
      await files.settled();
      database.close();
    },
  };
}

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
