import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { gateway, simulator } from "../support/world.ts";

test.skipIf(process.platform === "win32")("SIGUSR1 opens no inspector, and the gateway runs on", async () => {
  const home = temporaryHome();
  await simulator({ home });
  const served = await gateway({ home });
  process.kill(served.pid, "SIGUSR1");
  for (let asked = 0; asked < 50; asked++) expect((await fetch(`${served.url}/health`)).status).toBe(200);
  expect(served.log()).not.toMatch(/debugger|inspector/i);
});
