import type { Clock } from "../../base/clock.ts";
import type { Secret } from "../../base/secret.ts";
import type { Host } from "../host/host.ts";
import type { Ide } from "../ide.ts";
import type { Probe } from "../process/probe-port.ts";
import type { GivenTokens } from "../process/token-file.ts";
import type { IdeOverrides } from "./overrides.ts";

/** The token and the port that a server answered with. */
export interface LastGood {
  readonly token: Secret;
  readonly port: number;
  /** How long that took. */
  readonly tookMs: number;
}

/** The options of a discovery, besides the machine. */
export interface DiscoverOptions {
  readonly host: Host;
  readonly probe: Probe;
  readonly overrides: IdeOverrides;
  /** The system's by default. */
  readonly clock?: Pick<Clock, "monotonic">;
  /** Servers that stayed silent however long they were waited for, by process id and start: a search does not wait for them again. */
  readonly hopeless?: Set<string>;
  /** The last settings that worked for a server, by `Ide.id`. */
  readonly lastGood: ReadonlyMap<string, LastGood>;
  /** Ports that passed the probe and then answered as no language server does, by `strangerKey`. */
  readonly strangers?: ReadonlySet<string>;
  /** The IDE that `overrides.pid` names, as an earlier pass found it. */
  readonly named?: Ide | undefined;
}

/** A port of one server's process, which is another one after a restart. */
export function strangerKey(id: string, { host, port }: { readonly host: string; readonly port: number }): string {
  return `${id} ${host} ${port}`;
}

/** The same, once the user's token file is read. */
export interface ExamineOptions extends DiscoverOptions {
  readonly given: GivenTokens | undefined;
  /** Whether nothing else runs here, so that a server is waited for as long as any. */
  readonly isLast?: boolean;
}
