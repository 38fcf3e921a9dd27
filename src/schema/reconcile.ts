import { clone, create, createFileRegistry, type DescEnum, type DescMessage } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import type { Interceptor } from "@connectrpc/connect";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";
import { type BuildField, type BuildTypes, ourFiles, ourTypes, wireType } from "./build-types.ts";
import { type EnumNumbers, enumNumbers, translateEnums } from "./enum-numbers.ts";

/** A difference between a build and the schema that our code was written for. */
export interface SchemaDifference {
  /** `exa.cortex_pb.CascadePlannerConfig.requested_model_uid`. */
  readonly where: string;
  readonly kind: "moved" | "missing" | "changed";
  /** Numbers of a moved field or value; types of a changed field. */
  readonly ours?: number | string;
  readonly theirs?: number | string;
  /** Millrace does not work without it. */
  readonly loadBearing: boolean;
}

/** Our service in the numbers of a build, and the differences that were reconciled. */
export interface Reconciliation {
  /** The same typed service, independent of the numbers on the wire. */
  readonly service: typeof LanguageServerService;
  /** To run on every call; none as long as no enum value moved. */
  readonly interceptors: readonly Interceptor[];
  /** `same`: nothing moved. `moved`: the build's numbers are used. `broken`: something load-bearing is not there. */
  readonly verdict: "same" | "moved" | "broken";
  readonly differences: readonly SchemaDifference[];
}

/** Numbers that no schema uses: a field kept here never meets one of the build's, and is always empty. */
const parkedNumbers = 500_000_000;

/**
 * Holds our schema against a build's, by full name and field name. The result speaks the build's numbers under our names, so
 * that nothing above it changes: same numbers, go on; moved numbers, use the build's; missing ones are never sent nor read.
 *
 * Source: docs/dev/wire/language-server.md, "Builds".
 */
export function reconcileSchema(build: BuildTypes): Reconciliation {
  const differences: SchemaDifference[] = [];
  const numbers = new Map<string, EnumNumbers>();
  const files = new Map(ourFiles().map((file) => [file, clone(FileDescriptorProtoSchema, file.proto)]));
  for (const type of ourTypes()) {
    const own = protoOf(type, files.get(type.file));
    if (type.kind === "message") {
      reconcileMessage(type, own as DescriptorProto, build.messages.get(type.typeName), differences); // as `kind` says
    } else {
      const found = reconcileEnum(type, own as EnumDescriptorProto, build.enums.get(type.typeName), differences); // as above
      if (found?.isIdentity === false) numbers.set(type.typeName, found);
    }
  }
  const moved = differences.some(({ kind }) => kind !== "missing");
  const verdict = differences.some((difference) => difference.loadBearing) ? "broken" : moved ? "moved" : "same";
  if (differences.length === 0) return { service: LanguageServerService, interceptors: [], verdict, differences };
  const standard = [...new Set(ourFiles().flatMap(({ dependencies }) => dependencies))].filter(
    (file) => !files.has(file),
  );
  const file = [...standard.map(({ proto }) => proto), ...files.values()];
  const service = createFileRegistry(create(FileDescriptorSetSchema, { file })).getService(
    LanguageServerService.typeName,
  );
  if (service === undefined) throw new Error("our own service is gone"); // never: its file is among them
  return {
    service: service as typeof LanguageServerService, // the same names and shapes, with other numbers
    interceptors: numbers.size === 0 ? [] : [translateEnums(numbers)],
    verdict,
    differences,
  };
}

/** A type in the copy of its file. */
function protoOf(
  type: DescMessage | DescEnum,
  file: FileDescriptorProto | undefined,
): DescriptorProto | EnumDescriptorProto | undefined {
  const holder = type.parent === undefined ? undefined : (protoOf(type.parent, file) as DescriptorProto | undefined); // only a message holds types
  const messages = type.parent === undefined ? file?.messageType : holder?.nestedType;
  const enums = type.parent === undefined ? file?.enumType : holder?.enumType;
  return (type.kind === "message" ? messages : enums)?.find(({ name }) => name === type.name);
}

function reconcileEnum(
  type: DescEnum,
  own: EnumDescriptorProto,
  theirs: ReadonlyMap<string, number> | undefined,
  differences: SchemaDifference[],
): EnumNumbers | undefined {
  if (theirs === undefined) return undefined;
  const found = enumNumbers(type, theirs);
  for (const { name, ours, theirs: number } of found.moved) {
    differences.push({ where: `${type.typeName}.${name}`, kind: "moved", ours, theirs: number, loadBearing: false });
  }
  for (const value of own.value) value.number = found.toTheirs(value.number);
  own.value.sort((a, b) => Number(b.number === 0) - Number(a.number === 0));
  return found;
}

function reconcileMessage(
  ours: DescMessage,
  own: DescriptorProto,
  theirs: ReadonlyMap<string, BuildField> | undefined,
  differences: SchemaDifference[],
): void {
  const needed = loadBearing[ours.typeName] ?? [];
  if (theirs === undefined) {
    if (ours.fields.length === 0 && needed.length === 0) return;
    differences.push({ where: ours.typeName, kind: "missing", loadBearing: needed.length > 0 });
    return;
  }
  own.field.forEach((field, i) => {
    const where = `${ours.typeName}.${field.name}`;
    const isNeeded = needed.includes(field.name);
    const mine = ours.fields.find((candidate) => candidate.name === field.name);
    const other = theirs.get(field.name);
    if (mine === undefined) return;
    if (other === undefined) {
      differences.push({ where, kind: "missing", loadBearing: isNeeded });
      field.number = parkedNumbers + i;
    } else if (wireType(mine) !== other.type) {
      differences.push({ where, kind: "changed", ours: wireType(mine), theirs: other.type, loadBearing: isNeeded });
      field.number = parkedNumbers + i;
    } else if (mine.number !== other.number) {
      differences.push({ where, kind: "moved", ours: mine.number, theirs: other.number, loadBearing: false });
      field.number = other.number;
    }
  });
}

/**
 * The fields that Millrace needs, by message: those that start and prompt a conversation, and those that it reads from the
 * answer. All others may be missing from a build without harm.
 *
 * Source: docs/dev/wire/language-server.md, "Metadata"; docs/dev/wire/cascade.md, "Calls", "Trajectories and steps".
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
