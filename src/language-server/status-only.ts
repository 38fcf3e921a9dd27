import { clone, createFileRegistry, type DescFile, type DescMessage } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";

/**
 * The service with a trajectory that holds how its executions ended and nothing else: for `GetCascadeTrajectory`, where the
 * bytes of the steps grow with every poll and are skipped this way instead of built. Made from the descriptors that are
 * spoken, so that moved field numbers hold here too.
 *
 * Source: docs/dev/wire/cascade.md, "Calls", "Trajectories and steps".
 */
export function statusOnlyService(service: typeof LanguageServerService): typeof LanguageServerService {
  const answer = service.method.getCascadeTrajectory.output;
  const trajectory = answer.field["trajectory"]?.message;
  if (trajectory === undefined) return service; // a build without it has nothing to skip
  const narrowed = new Map([[trajectory.file.proto.name, withoutFields(trajectory)]]);
  const resolve = (name: string): DescFile | FileDescriptorProto | undefined =>
    narrowed.get(name) ?? dependency([service.file, trajectory.file], name);
  const found = createFileRegistry(service.file.proto, resolve).getService(service.typeName);
  if (found === undefined) throw new Error("a registry lost a service"); // never: it was made from that service's file
  return found as typeof LanguageServerService; // the same but for fields that callers of this method never see
}

function withoutFields(trajectory: DescMessage): FileDescriptorProto {
  const file = clone(FileDescriptorProtoSchema, trajectory.file.proto);
  const message = file.messageType.find((candidate) => candidate.name === trajectory.name);
  if (message !== undefined) {
    message.field = message.field.filter((field) => field.name === "executor_metadatas");
    message.oneofDecl = [];
  }
  return file;
}

function dependency(files: readonly DescFile[], name: string): DescFile | undefined {
  return files.flatMap((file) => file.dependencies).find((file) => file.proto.name === name);
}
