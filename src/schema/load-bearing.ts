/**
 * The fields that Millrace needs, by message: those that start and prompt a conversation, and those that it reads from the
 * answer. All others may be missing from a build without harm.
 *
 * Source: docs/wire/language-server.md, "Metadata"; docs/wire/cascade.md, "Calls", "Trajectories and steps".
 */
export const loadBearing: Readonly<Record<string, readonly string[]>> = {
  "exa.codeium_common_pb.Metadata": [
    "ide_name",
    "extension_version",
    "api_key",
    "ide_version",
    "request_id",
    "session_id",
  ],
  "exa.language_server_pb.InitializeCascadePanelStateRequest": ["metadata"],
  "exa.language_server_pb.StartCascadeRequest": ["metadata", "source", "trajectory_type"],
  "exa.language_server_pb.StartCascadeResponse": ["cascade_id"],
  "exa.language_server_pb.SendUserCascadeMessageRequest": ["cascade_id", "items", "metadata", "cascade_config"],
  "exa.codeium_common_pb.TextOrScopeItem": ["text"],
  "exa.cortex_pb.CascadeConfig": ["planner_config"],
  "exa.cortex_pb.CascadePlannerConfig": ["conversational", "requested_model_uid"],
  "exa.cortex_pb.CascadeConversationalPlannerConfig": ["planner_mode", "additional_instructions_section"],
  "exa.cortex_pb.SectionOverrideConfig": ["mode", "content"],
  "exa.language_server_pb.GetCascadeTrajectoryRequest": ["cascade_id"],
  "exa.language_server_pb.GetCascadeTrajectoryResponse": ["status", "num_total_steps"],
  "exa.language_server_pb.GetCascadeTrajectoryStepsRequest": ["cascade_id", "step_offset"],
  "exa.language_server_pb.GetCascadeTrajectoryStepsResponse": ["steps"],
  "exa.cortex_pb.CortexTrajectoryStep": [
    "type",
    "status",
    "user_input",
    "planner_response",
    "error_message",
    "checkpoint",
  ],
  "exa.cortex_pb.CortexStepPlannerResponse": ["response", "thinking"],
  "exa.cortex_pb.CortexStepErrorMessage": ["error"],
  "exa.cortex_pb.CortexErrorDetails": ["user_error_message", "short_error", "full_error"],
  "exa.language_server_pb.CancelCascadeInvocationRequest": ["cascade_id"],
  "exa.language_server_pb.GetUserStatusRequest": ["metadata"],
  "exa.language_server_pb.GetUserStatusResponse": ["user_status"],
  "exa.codeium_common_pb.UserStatus": ["plan_status", "cascade_model_config_data"],
  "exa.codeium_common_pb.CascadeModelConfigData": ["client_model_configs"],
  "exa.codeium_common_pb.ClientModelConfig": ["label", "disabled", "model_uid"],
};
