import { toBinary } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Clock } from "../../src/base/clock.ts";
import { LanguageServerService } from "../../src/proto/windsurf/exa/language_server_pb.ts";
import { StateDatabase } from "../account/state-database.ts";
import type { StartOrder } from "../control.ts";
import type { Product } from "../product.ts";
import { antigravityRpcs } from "./answers.ts";
import { jsonHandler } from "./json-handler.ts";
import { Quota } from "./quota.ts";

/**
 * Antigravity's server as far as a meter needs it: the account and the rest of its plan, as JSON; the cheap probes in binary too,
 * where both schemas agree.
 */
export function antigravityProduct(order: StartOrder, clock: Clock): Product {
  const database = new StateDatabase(order.stateDatabase, toBinary, true);
  database.writeAntigravityAccount(order.apiKey, "Sim Ulator", "simulator@example.com");
  let quota = new Quota(order.plan, clock.now());
  const rpcs = antigravityRpcs(() => quota);
  const binary = connectNodeAdapter({
    routes: (router) => {
      router.service(LanguageServerService, {
        getUnleashData: () => ({}),
        heartbeat: () => ({}),
        getStatus: () => ({}),
      });
    },
  });
  const left = new Set(order.config.missing);
  return {
    knows: (rpc) => rpcs.has(rpc) && !left.has(rpc) && (rpc !== "RetrieveUserQuotaSummary" || quota.tellsPools),
    handler: jsonHandler(rpcs, clock, binary),
    tls: true,
    portsAre: () => {},
    cascades: () => [],
    calls: {
      setTurn: () => {},
      setPlan(plan) {
        quota = new Quota(plan, clock.now());
      },
      release: () => {},
      spend: (turn) => quota.spend(turn, clock.now()),
    },
    close: async () => database.close(),
  };
}
