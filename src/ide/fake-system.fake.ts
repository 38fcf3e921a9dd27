import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Programs of another system, as executables in a folder that goes on a PATH. */
export interface FakeSystem {
  readonly folder: string;
  /** The programs' environment: the PATH, and the processes that they show. */
  environment(pids: readonly number[], mode?: string): Readonly<Record<string, string>>;
}

const programs = {
  ps: "fake-macos.mjs",
  lsof: "fake-macos.mjs",
  powershell: "fake-windows.mjs",
  netstat: "fake-windows.mjs",
};

/** Puts `ps`, `lsof`, `powershell` and `netstat` into `folder`; each reports real processes, in the format of its system. */
export async function installFakeSystem(folder: string): Promise<FakeSystem> {
  await mkdir(folder, { recursive: true });
  for (const [name, fixture] of Object.entries(programs)) {
    const script = new URL(`fixtures/${fixture}`, import.meta.url).href;
    const text = `#!${process.execPath}\nprocess.env.FAKE_NAME = ${JSON.stringify(name)};\nimport(${JSON.stringify(script)});\n`;
    await writeFile(join(folder, name), text);
    await chmod(join(folder, name), 0o755);
  }
  return {
    folder,
    environment: (pids, mode = "") => ({ PATH: folder, FAKE_PIDS: pids.join(","), FAKE_MODE: mode }),
  };
}
