/** The package's front door: `import { startGateway } from "millrace"`. */
export {
  type ErrorCode,
  type ErrorRecord,
  isMillraceError,
  MillraceError,
  type MillraceErrorOptions,
} from "./base/errors.ts";
export { type RunningGateway, type StartGatewayOptions, startGateway } from "./cli/compose/start-gateway.ts";
