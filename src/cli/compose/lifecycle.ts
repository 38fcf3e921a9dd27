import type { IdeLifecycle } from "../../ide/lifecycle.ts";
import type { StoreLifecycle } from "../../log/lifecycle.ts";
import type { ModelLifecycle } from "../../models/lifecycle.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";

/** All events of a gateway's life. `compose.ts` makes the one source of them. */
export interface GatewayLifecycle extends TurnLifecycle, StoreLifecycle, UsageLifecycle, IdeLifecycle, ModelLifecycle {}
