import { expect, onTestFinished, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
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

test.skipIf(process.platform === "win32")(
  "commands say of a suspended gateway that it does not answer, and its process; `stop` ends it",
  async () => {
    const home = temporaryHome();
    const { pid, url } = await gateway({ home });
    process.kill(pid, "SIGSTOP");
    const commands = [["status"], ["doctor"], ["usage"], ["tail"]];
    const said = await Promise.all(commands.map((words) => millrace(words, { home })));
    for (const { code, stdout, stderr } of said) {
      expect(`${stdout}${stderr}`).toContain(`Your gateway (process ${pid}) runs, and does not answer at ${url}.`);
      expect(`${stdout}${stderr}`).toContain(`kill -CONT ${pid}`);
      expect(`${stdout}${stderr}`).not.toMatch(/^gateway +does not run|No gateway runs/m);
      expect(code).not.toBe(0);
    }
    process.kill(pid, "SIGCONT");
    expect((await millrace(["status"], { home })).stdout).toContain(`serves on ${url}`);
    process.kill(pid, "SIGSTOP");
    expect(await millrace(["stop"], { home })).toMatchObject({
      code: 0,
      stdout: `The gateway at ${url} (process ${pid}) has stopped.\n`,
    });
  },
);
