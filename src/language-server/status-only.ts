import { clone, createFileRegistry, type DescMethodUnary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";

type StatusMethod = typeof LanguageServerService.method.getCascadeTrajectory;

/**
 * `GetCascadeTrajectory` whose answer has no `trajectory`: the bytes of the steps, which grow with every poll, are skipped
 * instead of built. Made from the descriptors that are spoken, so that moved field numbers hold here too.
 *
 * Source: facts/language-server.md, 1.2.
 */
export function statusOnlyMethod(service: typeof LanguageServerService): StatusMethod {
  const full: DescMethodUnary = service.method.getCascadeTrajectory;
  const file = clone(FileDescriptorProtoSchema, full.output.file.proto);
  const answer = file.messageType.find((message) => message.name === full.output.name);
  if (answer !== undefined) answer.field = answer.field.filter((field) => field.name !== "trajectory");
  const registry = createFileRegistry(file, (name) => full.output.file.dependencies.find((d) => d.proto.name === name));
  const method = registry.getService(service.typeName)?.method[full.localName];
  if (method === undefined) throw new Error("the service has no GetCascadeTrajectory"); // never: `full` is one of its own
  return method as StatusMethod; // the same but for a field that callers of this method never see
}
