import type { IdeVariant } from "../../language-server/transport/endpoint.ts";
import type { ProcessRow } from "../host/host.ts";
import type { Flags } from "./command-line.ts";

/** A process that is a language server by its command line. */
export interface ServerProcess {
  readonly row: ProcessRow;
  readonly variant: IdeVariant;
  readonly flags: Flags;
}
