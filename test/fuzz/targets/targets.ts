import type { Target } from "../target.ts";
import { agentTargets } from "./agents.ts";
import { fileTargets } from "./files.ts";
import { requestTargets } from "./requests.ts";
import { serverTargets } from "./servers.ts";

/** Every reader of what others wrote. */
export const targets: readonly Target[] = [...requestTargets, ...serverTargets, ...agentTargets, ...fileTargets];
