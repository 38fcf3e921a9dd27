import { Buffer } from "node:buffer";
import { copyFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import {
  ClientModelConfigSchema,
  type UserStatus,
  UserStatusSchema,
} from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import { cachedPlanInfo } from "./plan.ts";

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

/** Writes a message in the schema that this build speaks. */
export type Encode = (desc: DescMessage, message: Message) => Uint8Array;

/**
 * The editor's `state.vscdb`: one table of keys and values, with a rollback journal, held open as the real one is.
 * Source: docs/dev/wire/processes.md, "State database", "Keys of the state database".
 */
export class StateDatabase {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #encode: Encode;

  readonly #savesPlan: boolean;

  /** @param savesPlan whether the plan is kept in a row that follows it; newer products write another one, at their start. */
  constructor(path: string, encode: Encode, savesPlan: boolean) {
    this.#path = path;
    this.#encode = encode;
    this.#savesPlan = savesPlan;
    this.#database = new DatabaseSync(path);
    this.#database.exec("PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 2000; PRAGMA user_version = 1");
    this.#database.exec("CREATE TABLE IF NOT EXISTS ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
  }

  /** Writes every key that the product keeps about the account; without a status, those of someone signed out. */
  writeAccount(apiKey: string, status: UserStatus | undefined, installationId: string): void {
    this.#database.exec("BEGIN");
    this.#putAccount(apiKey, status, installationId);
    this.#database.exec("COMMIT");
  }

  #putAccount(apiKey: string, status: UserStatus | undefined, installationId: string): void {
    this.#put("codeium.windsurf", {
      "codeium.installationId": installationId,
      apiServerUrl: "https://server.self-serve.windsurf.com",
    });
    if (status === undefined) {
      this.#delete("windsurfAuthStatus");
      this.#delete("windsurf.settings.cachedPlanInfo");
      return;
    }
    this.#put("windsurfAuthStatus", {
      apiKey,
      allowedCommandModelConfigsProtoBinaryBase64: (status.cascadeModelConfigData?.clientModelConfigs ?? [])
        .slice(0, 8)
        .map((model) => base64(this.#encode(ClientModelConfigSchema, model))),
      userStatusProtoBinaryBase64: base64(this.#encode(UserStatusSchema, status)),
    });
    if (status.planStatus !== undefined && this.#savesPlan) {
      this.#put("windsurf.settings.cachedPlanInfo", cachedPlanInfo(status.planStatus));
    }
    this.#put(`windsurf_auth-${status.name}`, status.name);
    this.#put("codeium.windsurf-windsurf_auth", status.name);
    this.#put('secret://{"extensionId":"codeium.windsurf","key":"windsurf_auth.sessions"}', {
      type: "Buffer",
      data: [...Buffer.from("v11-sealed-by-the-keychain")],
    });
    this.#put("windsurfConfigurations", { theme: "dark" });
  }

  /** Antigravity's keys. Its account is the user's Google session: the values are sealed, and no client needs one. */
  writeAntigravityAccount(accessToken: string, name: string, email: string): void {
    const status = this.#encode(UserStatusSchema, create(UserStatusSchema, { name, email })); // numbers 3 and 7 in both schemas
    this.#put("antigravityAuthStatus", {
      apiKey: accessToken,
      email,
      name,
      userStatusProtoBinaryBase64: base64(status),
    });
    this.#put("antigravityUnifiedStateSync.oauthToken", base64(Buffer.from("sealed-by-the-simulator")));
    this.#put("antigravityOnboarding", true);
  }

  /** Leaves a copy beside the file, as the editor does at its end. */
  close(): void {
    this.#database.close();
    copyFileSync(this.#path, `${this.#path}.backup`);
  }

  #put(key: string, value: unknown): void {
    this.#database.prepare("INSERT INTO ItemTable (key, value) VALUES (?, ?)").run(key, JSON.stringify(value));
  }

  #delete(key: string): void {
    this.#database.prepare("DELETE FROM ItemTable WHERE key = ?").run(key);
  }
}
