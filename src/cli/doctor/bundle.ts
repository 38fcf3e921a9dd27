import { writeFile } from "node:fs/promises";
import type { Io } from "../terminal/io.ts";
import { type Known, redactor } from "./redact.ts";
import { render } from "./render.ts";
import type { DoctorReport } from "./report.ts";
import { tarGzip } from "./tar.ts";

/** The files of a support archive, every one through the redactor. */
export function bundleFiles(
  report: DoctorReport,
  env: Io["env"],
  known: Known,
): readonly { readonly name: string; readonly text: string }[] {
  const redact = redactor(known);
  const settings = Object.fromEntries(
    Object.entries(env)
      .filter(([name]) => name.startsWith("MILLRACE_"))
      .map(([name, value]) => [name, value ?? ""]),
  );
  const texts = {
    "README.txt": readme,
    "report.txt": `${render(report, (_, text) => text).join("\n")}\n`,
    "report.json": `${JSON.stringify(report, null, 2)}\n`,
    "settings.json": `${JSON.stringify(settings, null, 2)}\n`,
  };
  return Object.entries(texts).map(([name, text]) => ({ name: `millrace-doctor/${name}`, text: redact(text) }));
}

/** Writes the archive (0600); an existing file is not replaced. Throws the file system's errors. */
export async function writeSupportBundle(
  path: string,
  files: ReturnType<typeof bundleFiles>,
  atMs: number,
): Promise<void> {
  await writeFile(path, tarGzip(files, atMs), { mode: 0o600, flag: "wx" });
}

const readme = `What millrace doctor saw, for a report of a problem.

Taken out: keys, tokens, e-mail addresses, the name of the user and of the machine, the path of the home folder.
UUIDs are numbered instead. No prompt and no answer was ever in it. Please look through it before you send it.
`;
