/** `millrace/simulator`: a stand-in IDE for the tests of a program that uses Millrace. */
export {
  type ErrorCode,
  type ErrorRecord,
  isMillraceError,
  MillraceError,
  type MillraceErrorOptions,
} from "../src/base/errors.ts";
export type { CascadeId } from "../src/base/ids.ts";
export type { Secret } from "../src/base/secret.ts";
export type { OwnTurnInput, PlanInput } from "./account/plan-options.ts";
export type { AgentInput } from "./acp/agent-options.ts";
export type { AgentProcessReport, AgentPrompt, AgentReport } from "./acp/desk/desk-protocol.ts";
export type { RpcFault } from "./faults/rpc-fault.ts";
export type { TurnPlan } from "./faults/turn-plan.ts";
export type { Layout } from "./layout.ts";
export type { SimulatorOptions } from "./options.ts";
export type { Profile, ProfileName } from "./profile.ts";
export type { AcceptedMessage, CascadeReport, Report } from "./report.ts";
export type { Simulator } from "./simulator.ts";
export { startSimulator } from "./start.ts";
