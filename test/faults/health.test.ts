import { expect, onTestFinished, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { gateway, simulator } from "../support/world.ts";

/** A search that found no IDE is not repeated for this long; ms. Source: docs/dev/turn-machine.md, the search for running IDEs. */
const freshMs = 1_000;

// a stopped process accepts connections and answers nothing, so a search waits for it
test.skipIf(process.platform === "win32")("health does not wait for a search of the IDE", async () => {
  const home = temporaryHome();
  const { url, key } = await gateway({ home });
  const lookedAtMs = async () => {
    const response = await fetch(`${url}/health`, { headers: { authorization: `Bearer ${key}` } });
    const { details } = (await response.json()) as { readonly details?: { readonly looked_at: string } };
    return Date.parse(details?.looked_at ?? "");
  };
  await expect.poll(lookedAtMs).toBeGreaterThan(0);
  const { pid } = await simulator({ home });
  process.kill(pid, "SIGSTOP");
  onTestFinished(() => void process.kill(pid, "SIGCONT"));
  const stoppedAtMs = Date.now();
  await expect.poll(() => Date.now()).toBeGreaterThan(stoppedAtMs + freshMs);
  expect(await lookedAtMs()).toBeLessThan(stoppedAtMs); // it begins a search, and tells what the last one found
  process.kill(pid, "SIGCONT");
  await expect.poll(lookedAtMs).toBeGreaterThan(stoppedAtMs);
});
