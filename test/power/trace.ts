import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whether system calls of a child can be recorded here; needs `strace`, and the right to trace. */
export const mayTrace =
  process.platform === "linux" &&
  spawnSync("strace", ["-f", "-o", "/dev/null", "-e", "trace=fsync", process.execPath, "-e", "0"]).status === 0;

/** What a process did to its disk, or said, in the order in which it did. */
export type Step =
  | { readonly kind: "create"; readonly path: string; readonly file: number }
  | { readonly kind: "write"; readonly file: number; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: "truncate"; readonly file: number; readonly size: number }
  | { readonly kind: "sync"; readonly file: number }
  | { readonly kind: "sync-names"; readonly folder: string }
  /** One more name of a file. */
  | { readonly kind: "link"; readonly path: string; readonly file: number }
  | { readonly kind: "rename"; readonly from: string; readonly to: string }
  | { readonly kind: "unlink"; readonly path: string }
  /** A line of its standard output: what it acknowledged. */
  | { readonly kind: "said"; readonly line: string };

const calls =
  "openat,close,write,pwrite64,pwritev,writev,fsync,fdatasync,ftruncate,rename,renameat2,unlink,unlinkat,link,lseek";

/** Runs a module in a process of its own and answers what that did in the folder, by its system calls. */
export async function traced(module: string, args: readonly string[], folder: string): Promise<readonly Step[]> {
  const out = mkdtempSync(join(tmpdir(), "millrace-trace-"));
  const file = join(out, "calls");
  try {
    const options = ["-f", "-y", "-xx", "-s", "16777216", "-e", `trace=${calls}`, "-o", file];
    const child = spawn("strace", [...options, process.execPath, module, ...args], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env["PATH"] ?? "" },
    });
    let complaint = "";
    child.stderr.on("data", (chunk: Buffer) => (complaint += chunk.toString()));
    const code = await new Promise((resolve) => child.on("close", resolve));
    if (code !== 0) throw new Error(`the traced process ended with ${String(code)}: ${complaint}`);
    return new Tracing(folder).steps(readFileSync(file, "latin1"));
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** Reads `strace -f -y -xx`, of which it knows the calls above; any other way of writing to the folder is an error. */
class Tracing {
  readonly #folder: string;
  readonly #steps: Step[] = [];
  /** Inodes by the path that they have now; numbered in the order of their making. */
  readonly #files = new Map<string, number>();
  /** Where `write` goes on, by descriptor; -1 is the end of the file. */
  readonly #places = new Map<number, number>();
  readonly #sizes = new Map<number, number>();
  #said = "";

  constructor(folder: string) {
    this.#folder = folder;
  }

  steps(text: string): readonly Step[] {
    const unfinished = new Map<string, string>();
    for (const line of text.split("\n")) {
      const [, thread = "", rest = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
      const begun = /^(.*) <unfinished \.\.\.>$/.exec(rest);
      const ended = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
      if (begun !== null) unfinished.set(thread, begun[1] ?? "");
      else if (ended === null) this.#take(rest);
      else {
        this.#take((unfinished.get(thread) ?? "") + (ended[1] ?? ""));
        unfinished.delete(thread);
      }
    }
    return this.#steps;
  }

  #take(call: string): void {
    const [, name = "", parameters = "", answer = ""] = /^(\w+)\((.*)\) += (-?\d+|\?)/s.exec(call) ?? [];
    if (name === "" || answer.startsWith("-") || answer === "?") return; // a signal, an exit, or a call that failed
    const fd = Number(/^(\d+)</.exec(parameters)?.[1] ?? "-1");
    const path = decode(/^(?:\d+|AT_FDCWD)<((?:\\x..)*)>/.exec(parameters)?.[1] ?? "");
    const strings = [...parameters.matchAll(/"((?:\\x..)*)"/g)].map(([, text = ""]) => decode(text));
    const numbers = [...parameters.matchAll(/, (\d+)(?=,|$)/g)].map(([, digits]) => Number(digits));
    if (fd === 1 && (name === "write" || name === "writev")) return this.#say(strings.join(""));
    switch (name) {
      case "openat":
        return this.#open(strings[0] ?? "", parameters, Number(answer));
      case "close":
        return void this.#places.delete(fd);
      case "lseek":
        if (this.#isOurs(path)) throw new Error(`a file of the folder is sought in: ${call.slice(0, 200)}`);
        return;
      case "rename":
      case "renameat2":
        return this.#rename(strings[0] ?? "", strings[1] ?? "");
      case "unlink":
      case "unlinkat":
        return this.#unlink(strings[0] ?? "");
      case "link":
        return this.#link(strings[0] ?? "", strings[1] ?? "");
      case "pwritev":
        if (this.#isOurs(path) || strings.some((each) => this.#isOurs(each)))
          throw new Error(`not understood: ${call.slice(0, 200)}`);
        return;
    }
    if (!this.#isOurs(path)) return;
    if ((name === "fsync" || name === "fdatasync") && path === this.#folder) {
      this.#steps.push({ kind: "sync-names", folder: path });
      return;
    }
    const file = this.#files.get(path);
    if (file === undefined) return; // unlinked, or a folder below
    if (name === "fsync" || name === "fdatasync") this.#steps.push({ kind: "sync", file });
    else if (name === "ftruncate") {
      const size = numbers[0] ?? 0;
      this.#sizes.set(file, size);
      this.#steps.push({ kind: "truncate", file, size });
    } else if (name === "pwrite64") {
      this.#write(file, numbers.at(-1) ?? 0, Buffer.from(strings[0] ?? "", "latin1"), Number(answer));
    } else {
      const bytes = Buffer.from(strings.join(""), "latin1");
      const place = this.#places.get(fd) ?? 0;
      this.#write(file, place < 0 ? (this.#sizes.get(file) ?? 0) : place, bytes, Number(answer));
      if (place >= 0) this.#places.set(fd, place + Number(answer));
    }
  }

  #write(file: number, offset: number, all: Buffer, written: number): void {
    const bytes = all.subarray(0, written);
    this.#sizes.set(file, Math.max(this.#sizes.get(file) ?? 0, offset + bytes.length));
    this.#steps.push({ kind: "write", file, offset, bytes });
  }

  #open(path: string, flags: string, fd: number): void {
    if (!this.#isOurs(path) || path === this.#folder) return;
    this.#places.set(fd, flags.includes("O_APPEND") ? -1 : 0);
    const known = this.#files.get(path);
    if (known === undefined && flags.includes("O_CREAT")) {
      const file = this.#sizes.size;
      this.#files.set(path, file);
      this.#sizes.set(file, 0);
      this.#steps.push({ kind: "create", path, file });
    } else if (known !== undefined && flags.includes("O_TRUNC")) {
      this.#sizes.set(known, 0);
      this.#steps.push({ kind: "truncate", file: known, size: 0 });
    }
  }

  #rename(from: string, to: string): void {
    const file = this.#files.get(from);
    if (file === undefined) return;
    this.#files.delete(from);
    this.#files.set(to, file);
    this.#steps.push({ kind: "rename", from, to });
  }

  #link(from: string, path: string): void {
    const file = this.#files.get(from);
    if (file === undefined) return;
    this.#files.set(path, file);
    this.#steps.push({ kind: "link", path, file });
  }

  #unlink(path: string): void {
    if (this.#files.delete(path)) this.#steps.push({ kind: "unlink", path });
  }

  #say(text: string): void {
    const lines = (this.#said + text).split("\n");
    this.#said = lines.pop() ?? "";
    for (const line of lines) this.#steps.push({ kind: "said", line });
  }

  #isOurs(path: string): boolean {
    return path === this.#folder || path.startsWith(`${this.#folder}/`);
  }
}

function decode(escaped: string): string {
  return Buffer.from(escaped.replaceAll("\\x", ""), "hex").toString("latin1");
}
