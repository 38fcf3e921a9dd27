import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { type Simulator, startSimulator } from "../start.ts";
import { RawClient } from "./acp-client.fake.ts";

export function pathOf(simulator: Simulator): string {
  if (simulator.cliPath === undefined) throw new Error("the CLI is not installed");
  return simulator.cliPath;
}

export function start(
  simulator: Simulator,
  args: readonly string[] = ["acp"],
  env: Record<string, string> = {},
): RawClient {
  return new RawClient(pathOf(simulator), args, { HOME: simulator.home, ...env });
}

interface SignedInCli {
  readonly simulator: Simulator;
  readonly client: RawClient;
}

/** One CLI that is signed in, for the tests of a `describe`, and a new client of it before each of them. */
export function signedInCli(use: (cli: SignedInCli) => void): void {
  let simulator: Simulator;
  let client: RawClient;

  beforeAll(async () => {
    simulator = await startSimulator({ profile: "devin-cli", turn: { rate: "instant" } });
  });
  afterAll(async () => {
    await simulator.stop();
  });
  beforeEach(async () => {
    await simulator.setAgent({});
    client = start(simulator);
    use({ simulator, client });
  });
  afterEach(async () => {
    await client[Symbol.asyncDispose]();
  });
}
