import { type DescMethodUnary, fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Clock } from "../../src/base/clock.ts";
import { LanguageServerService } from "../../src/proto/windsurf/exa/language_server_pb.ts";
import { initialUse } from "../account/plan.ts";
import type { PlanOptions } from "../account/plan-options.ts";
import { QuotaWindow } from "../account/quota-window.ts";
import { StateDatabase } from "../account/state-database.ts";
import type { StartOrder } from "../control.ts";
import type { Product } from "../product.ts";
import quotaSummary from "./quota-summary.json" with { type: "json" };
import userStatus from "./user-status.json" with { type: "json" };

const { getUserStatus, ...methods } = LanguageServerService.method;
const probes: readonly DescMethodUnary[] = [methods.getUnleashData, methods.heartbeat, methods.getStatus];
const hourMs = 3_600_000;

/**
 * Antigravity's server as far as a meter needs it: two recorded answers as JSON, with the rest of the plan as it stands, and the cheap
 * probes. It takes no prompts. Source: docs/dev/wire/account.md, "Antigravity's quota".
 */
export function antigravityProduct(order: StartOrder, clock: Clock): Product {
  const database = new StateDatabase(order.stateDatabase, toBinary, true);
  database.writeAntigravityAccount(order.apiKey, "Sim Ulator", "simulator@example.com");
  let pools = poolsOf(order.plan, clock.now());
  const answers: Readonly<Record<string, () => JsonObject>> = {
    GetUserStatus: () => pools.userStatus(clock.now()),
    RetrieveUserQuotaSummary: () => pools.quotaSummary(clock.now()),
    StartCascade: takesNoPrompt,
    SendUserCascadeMessage: takesNoPrompt,
  };
  const known = new Set([...Object.keys(answers), ...probes.map(({ name }) => name)]);
  for (const name of order.config.missing) known.delete(name);
  const handler = connectNodeAdapter({
    routes(router) {
      for (const probe of probes) router.rpc(probe, () => ({}));
      for (const [name, answer] of Object.entries(answers)) {
        const method = { ...getUserStatus, name, input: StructSchema, output: StructSchema }; // another schema: names hold, numbers do not
        router.rpc(method, () => fromJson(StructSchema, answer()));
      }
    },
  });
  return {
    knows: (rpc) => known.has(rpc) && (rpc !== "RetrieveUserQuotaSummary" || pools.summed),
    handler,
    tls: true,
    cascades: () => [],
    calls: {
      setTurn: () => {},
      setPlan(plan) {
        pools = poolsOf(plan, clock.now());
      },
      release: () => {},
      spend: ({ model, credits }) => pools.spend(model, credits, clock.now()),
    },
    close: async () => database.close(),
  };
}

function takesNoPrompt(): never {
  throw new ConnectError("this stand-in takes no prompts for Antigravity", Code.FailedPrecondition);
}

/** Two pools of models, each with a short and a weekly window. The others have used half as much, so that the two can be told apart. */
function poolsOf(plan: PlanOptions, nowMs: number) {
  const { daily, weekly } = initialUse(plan, nowMs);
  const half = plan.used === 100 ? daily : { ...daily, usedPercent: daily.usedPercent / 2 };
  const pool = (short: typeof daily) => ({
    "5h": new QuotaWindow(5 * hourMs, short),
    weekly: new QuotaWindow(7 * 24 * hourMs, weekly),
  });
  const pools = { gemini: pool(daily), "3p": pool(half) };
  const poolOf = (model: string) => (/gemini/i.test(model) ? pools.gemini : pools["3p"]);
  return {
    summed: plan.shape === "pools",
    userStatus(atMs: number): JsonObject {
      const answer = structuredClone(userStatus);
      for (const config of answer.userStatus.cascadeModelConfigData.clientModelConfigs) {
        if (plan.unknown) delete config.quotaInfo;
        else if (config.quotaInfo !== undefined)
          Object.assign(config, { quotaInfo: told(poolOf(config.label)["5h"], atMs) });
      }
      return answer;
    },
    quotaSummary(atMs: number): JsonObject {
      const buckets = Object.values(pools).flatMap((one) => [one["5h"], one.weekly]);
      const filled = (bucket: object) => {
        const { resetTime, ...remaining } = told(buckets.shift(), atMs);
        return { ...bucket, remaining, resetTime };
      };
      const groups = quotaSummary.response.groups.map((group) => ({ ...group, buckets: group.buckets.map(filled) }));
      return { response: plan.unknown ? {} : { groups } };
    },
    /** Takes the cost of a turn from both windows of its model's pool. */
    spend(model: string, credits: number, atMs: number): void {
      poolOf(model)["5h"].use(credits * plan.drain, atMs);
      poolOf(model).weekly.use((credits * plan.drain) / 4, atMs);
    },
  };
}

/** The rest of a window. Zero is left out, as proto3 does. */
function told(window: QuotaWindow | undefined, atMs: number) {
  const { usedPercent = 0, resetsAtMs = 0 } = window?.at(atMs) ?? {};
  const remainingFraction = Math.round(100 - usedPercent) / 100;
  const resetTime = new Date(resetsAtMs).toISOString().replace(/\.\d{3}Z$/, "Z");
  return { ...(remainingFraction === 0 ? {} : { remainingFraction }), resetTime };
}
