import { execFile } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testBundle } from "../../scripts/bundle/test-bundle.ts";
import { makeSingleFiles } from "../../scripts/single-file.ts";

const root = join(import.meta.dirname, "../..");

/** The program in one file of a build that this commit is named in, in a folder as a release has it. */
export async function buildOf(commit: string, work: string): Promise<string> {
  const folder = join(work, commit, "package");
  mkdirSync(join(folder, "dist"), { recursive: true });
  for (const name of ["package.json", "LICENSE"]) cpSync(join(root, name), join(folder, name));
  cpSync(await testBundle(), join(folder, "dist/node"), { recursive: true });
  writeFileSync(join(folder, "dist/commit"), commit);
  const [program = ""] = makeSingleFiles(folder, [`${process.platform}-${process.arch}`], join(work, commit, "out"));
  return program;
}

/** Runs it where no shell would find Node, or anything else. */
export function runAlone(program: string, home: string, ...words: readonly string[]) {
  const env = { PATH: "", HOME: home, USERPROFILE: home, MILLRACE_IDE_ONLY_HOME: home, MILLRACE_PORT: "0" };
  return new Promise<{ readonly code: unknown; readonly stdout: string; readonly stderr: string }>((resolve) => {
    execFile(program, words, { env }, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }));
  });
}
