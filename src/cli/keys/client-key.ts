import { createHash } from "node:crypto";
import { join } from "node:path";
import { removeSync } from "../../base/node/move-file.ts";
import { readOwnFile, UnusableFile } from "../../base/node/own-file.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { Secret } from "../../base/secret.ts";
import { addKey, hashKey, type KeyRecord, readKeys, revokeKey } from "./key-record.ts";

/** Millrace's own folder, and the list of keys in it. */
interface KeysHome {
  readonly folder: string;
  readonly keysFile: string;
}

/** The file that holds the key of a client that is set up; mode 0600. */
export function clientKeyFile({ folder }: Pick<KeysHome, "folder">, client: string): string {
  return join(folder, "setup", `${client}.key`);
}

/** The key of a client that is set up; undefined where it has none that works. Throws `degraded` as `readKeys` does. */
export function readClientKey(home: KeysHome, client: string): Secret | undefined {
  try {
    const key = new Secret(readOwnFile(clientKeyFile(home, client))?.trim() ?? "");
    return readKeys(home.keysFile).some((record) => isOf(record, client) && hashKey(key, record.salt) === record.hash)
      ? key
      : undefined;
  } catch (error) {
    if (error instanceof UnusableFile) return undefined; // others may read it
    throw error;
  }
}

/** Makes this the client's key, in place of any other one of it. */
export function issueClientKey(home: KeysHome, client: string, key: Secret, nowMs: number): void {
  if (readClientKey(home, client)?.equals(key)) return;
  endClientKey(home, client, nowMs);
  addKey(home.keysFile, { name: client, client: true, models: [] }, key, nowMs);
  replaceFileSync(clientKeyFile(home, client), key.reveal());
}

/** Ends the key of a client, if it has one. */
export function endClientKey(home: KeysHome, client: string, nowMs: number): void {
  removeSync(clientKeyFile(home, client));
  if (readKeys(home.keysFile).some((record) => isOf(record, client))) revokeKey(home.keysFile, client, nowMs);
}

function isOf({ client: isClient, name, revokedAtMs }: KeyRecord, client: string): boolean {
  return isClient === true && name === client && revokedAtMs === undefined;
}

/** Sixteen letters that nobody can guess who does not know the key. */
export function lettersOf(key: Secret): string {
  const bytes = createHash("sha256").update("millrace variable\0").update(key.reveal()).digest().subarray(0, 16);
  return Array.from(bytes, (byte) => String.fromCharCode(65 + (byte % 26))).join("");
}

/** The variable of a client's environment that has its key. */
export function variableOf(key: Secret): string {
  return `MILLRACE_${lettersOf(key)}_API_KEY`;
}
