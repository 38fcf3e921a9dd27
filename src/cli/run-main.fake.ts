import type { Command } from "./command.ts";
import { main } from "./main.ts";
import { fakeIo } from "./terminal/io.fake.ts";

/** Runs one command line in memory: its exit code, and what it wrote. */
export async function runMain(
  argv: readonly string[],
  commands: readonly Command[] | undefined,
  options: Parameters<typeof fakeIo>[0],
) {
  const io = fakeIo(options);
  const code = await main(argv, io, commands);
  return { code, stdout: io.written.stdout(), stderr: io.written.stderr() };
}
