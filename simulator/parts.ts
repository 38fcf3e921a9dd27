/** Parts of the stand-in IDE that tests and benchmarks of Millrace use without a running one. */
export { accountModels } from "./account/models.ts";
export { userStatus } from "./account/user-status.ts";
export { McpClient } from "./acp/mcp-client.ts";
export { install } from "./install.ts";
export { layoutOf } from "./layout.ts";
export { profiles } from "./profile.ts";
export { extensionBundle } from "./schema/bundle.ts";
export { schemaFiles, shiftedSchema } from "./schema/shift.ts";
export { ideSystemPrompt } from "./trajectory/planner-call.ts";
export { TrajectoryFiles } from "./trajectory/trajectory-files.ts";
