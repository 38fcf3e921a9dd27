import type { IdeLifecycle } from "../../ide/lifecycle.ts";
import type { StoreLifecycle } from "../../log/lifecycle.ts";
import type { ModelLifecycle } from "../../models/lifecycle.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";

/** All that happens in a gateway's life. `compose.ts` makes the one source of it. */
export interface GatewayLifecycle extends TurnLifecycle, StoreLifecycle, UsageLifecycle, IdeLifecycle, ModelLifecycle {}
