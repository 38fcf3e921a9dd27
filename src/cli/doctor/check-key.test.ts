import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { readOrMakeKey } from "../gateway-process/key-file.ts";
import type { Settings } from "../settings.ts";
import { checkKey } from "./check-own.ts";

test.skipIf(process.platform === "win32")(
  "on Windows doctor does not claim rights that it did not look at",
  async () => {
    const folder = temporaryFolder();
    const settings = { folder, keyFile: join(folder, "key") } as Settings;
    readOrMakeKey(settings.keyFile);
    const said = async (platform: NodeJS.Platform) => (await checkKey(settings, platform)).findings[0]?.what;
    expect(await said("linux")).toContain("readable by this user alone");
    expect(await said("win32")).toContain("was not checked");
  },
);
