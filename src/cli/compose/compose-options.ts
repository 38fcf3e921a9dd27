import type { Secret } from "../../base/secret.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { IdeOverrides } from "../../ide/discover/overrides.ts";
import type { Retention } from "../../log/retention.ts";
import type { Config } from "../config/config-schema.ts";
import type { OtlpReceiver } from "../telemetry/otlp-receiver.ts";
import type { Io } from "../terminal/io.ts";
import type { AskingOptions } from "./compose-upstream.ts";
import type { RedisAddress } from "./redis-address.ts";

/** The settings of a gateway's command, and its process. */
export interface ComposeOptions extends AskingOptions {
  readonly io: Io;
  readonly overrides: IdeOverrides;
  /** The user's configuration file. */
  readonly config: Config;
  readonly log: GatewayLog;
  readonly key: Secret;
  /** The file that holds it, where one does: looked into when a request carries another key. */
  readonly keyFile?: string;
  /** The file of the keys that `millrace keys` made. */
  readonly keysFile: string;
  /** Millrace's own folder. */
  readonly folder: string;
  /** The SQLite file of the log and the usage history; undefined keeps them in memory. */
  readonly storeFile: string | undefined;
  /** The Redis server that holds the log instead. */
  readonly redis?: RedisAddress | undefined;
  /** The file of the key that seals the log; created if missing. */
  readonly logKeyFile: string;
  readonly graceMs: number;
  /** How many turns may run at the same time in one IDE: 0 for any number, undefined for the default (`turn-limit.ts`). */
  readonly mostTurns: number | undefined;
  /** The file that says, by being there, that no prompt may be sent. */
  readonly pauseFile: string;
  /** Whether the user agreed beforehand that prompts go to the IDE. */
  readonly accept: boolean;
  /** Where spans are sent; nowhere by default. */
  readonly otlp?: OtlpReceiver | undefined;
  readonly retention: Retention;
  /** How long a trajectory stays open for the next turn of its conversation; undefined: every turn has a fresh one. */
  readonly continuityIdleMs: number | undefined;
  /** Whether the dashboard may show the texts of prompts and answers. */
  readonly dashboardText: boolean;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}
