import type { Clock } from "../../src/base/clock.ts";
import type { Account } from "../account/account.ts";
import type { TurnPlan } from "../faults/turn-plan.ts";
import type { SimulatorConfig } from "../options.ts";
import type { Profile } from "../profile.ts";
import type { Observations } from "../report.ts";
import type { Cascades } from "../trajectory/cascades.ts";

/** The state that the handlers of all RPCs share. */
export interface RpcContext {
  readonly config: SimulatorConfig;
  readonly profile: Profile;
  readonly account: Account;
  readonly cascades: Cascades;
  readonly observations: Observations;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Takes hundredths of a credit from the plan. */
  readonly spend: (hundredths: number) => void;
  /** Gone with every restart of the process. */
  readonly panel: { initialized: boolean; trusted: boolean };
  /** How turns go by default; may be changed while the server runs. */
  readonly turnDefaults: { current: TurnPlan };
}
