import { mkdir, utimes } from "node:fs/promises";
import { dirname } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { accountModels } from "./models.ts";
import { initialUse, Plan } from "./plan.ts";
import { planOptionsSchema } from "./plan-options.ts";
import { StateDatabase } from "./state-database.ts";
import { userStatus } from "./user-status.ts";

/** The key of the last sign-in before the upgrade: no server takes it any more. */
export const expiredKey = "sk-ws-01-left-behind-by-the-upgrade";

/** Writes the data folder that the product had under its old name, last touched half a year ago. */
export async function writeOldDataFolder(stateDatabase: string, installationId: string, nowMs: number): Promise<void> {
  await mkdir(dirname(stateDatabase), { recursive: true });
  const atMs = nowMs - 182 * 86_400_000;
  const plan = planOptionsSchema.parse({ shape: "credits" });
  const status = userStatus(accountModels(), new Plan(plan, initialUse(plan, atMs)).status(atMs));
  const database = new StateDatabase(stateDatabase, toBinary, true);
  database.writeAccount(expiredKey, status, installationId);
  database.close();
  await utimes(stateDatabase, atMs / 1000, atMs / 1000);
}
