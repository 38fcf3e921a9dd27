import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { mounts, temporaryHome, withReadOnly } from "../support/home.ts";

test.runIf(mounts)("doctor in a read-only home does not promise a key", async () => {
  const home = temporaryHome();
  const { stdout } = await millrace(["doctor", "--json"], { home, under: withReadOnly(home) });
  const { data: findings } = JSON.parse(stdout) as { readonly data: readonly { area: string; what: string }[] };
  expect(findings.filter(({ area }) => area === "key" || area === "store").map(({ what }) => what)).toEqual([
    `${home} cannot be written: the disk is read-only`,
  ]);
});
