import type { Message, MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Clock } from "../base/clock.ts";
import type { MetadataSchema } from "../proto/windsurf/exa/codeium_common_pb.ts";
import type { IdeIdentity } from "./transport/endpoint.ts";

/** The ids that `Metadata` carries. One per process: two of them would hand out the same request ids. */
export interface WireIds {
  /** Strictly increasing within the process; starts at the time in ms. A uint64 on the wire. */
  nextRequestId(): bigint;
  /** A fresh UUID for every call. */
  newTriggerId(): string;
  /** One UUID for the process's life. */
  readonly sessionId: string;
}

/** Starts the numbering of this process's calls. Source: docs/dev/wire/language-server.md, "Metadata". */
export function createWireIds(clock: Clock, newUuid: () => string = () => crypto.randomUUID()): WireIds {
  let last = 0n;
  return {
    sessionId: newUuid(),
    newTriggerId: newUuid,
    nextRequestId() {
      const now = BigInt(Math.trunc(clock.now()));
      last = now > last ? now : last + 1n; // also when two calls fall into one ms, or the clock was set back
      return last;
    },
  };
}

/** The description of this machine in `Metadata`; every field may be empty. */
export interface MachineIdentity {
  /** `linux`, `darwin`, `windows`. */
  readonly os: string;
  /** `x86_64`, `arm64`. */
  readonly hardware: string;
  /** Hex SHA-256, the same on every start of this machine. */
  readonly deviceFingerprint: string;
}

/**
 * Gives a request the next id if it carries `Metadata`. Called when the request's bytes are about to be written, so that ids
 * grow on the wire as well, however many calls begin at once.
 */
export function stampRequestId(request: Message, ids: WireIds): void {
  if (!("metadata" in request)) return;
  const { metadata } = request;
  if (typeof metadata !== "object" || metadata === null || !("requestId" in metadata)) return;
  metadata.requestId = ids.nextRequestId();
}

/**
 * The `Metadata` of one call, with every field that the server is known to look at but the request id, which is stamped on it
 * when it is sent.
 *
 * Source: docs/dev/wire/language-server.md, "Metadata".
 */
export function metadataFor(
  identity: IdeIdentity,
  machine: MachineIdentity,
  ids: WireIds,
  clock: Clock,
): MessageInitShape<typeof MetadataSchema> {
  return {
    ideName: identity.variant,
    ideVersion: identity.ideVersion,
    extensionName: "windsurf",
    extensionVersion: identity.extensionVersion === "" ? identity.ideVersion : identity.extensionVersion,
    extensionPath: identity.extensionPath,
    apiKey: identity.apiKey.reveal(), // goes on the wire here
    locale: "en",
    os: machine.os,
    hardware: machine.hardware,
    deviceFingerprint: machine.deviceFingerprint,
    sessionId: ids.sessionId,
    triggerId: ids.newTriggerId(),
    lsTimestamp: timestampFromMs(clock.now()),
    planName: "Unset",
    ideType: "windsurf",
  };
}
