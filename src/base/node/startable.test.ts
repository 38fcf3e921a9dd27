import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type System, startable } from "./startable.ts";

const npm = "C:\\Users\\ada\\AppData\\Roaming\\npm";

/** A Windows machine with these files. */
function windows(files: readonly string[], env: System["env"] = {}): System {
  const known = new Set(files.map((file) => file.toLowerCase()));
  return {
    platform: "win32",
    env: { Path: `C:\\Windows\\System32;${npm};relative`, PATHEXT: ".EXE;.CMD", SystemRoot: "D:\\Win", ...env },
    isFile: (path) => known.has(path.toLowerCase()),
  };
}

describe("a program on Windows", () => {
  const shim = `${npm}\\claude.CMD`;

  test("that npm installed is started by the shell, with its whole path", () => {
    expect(startable("claude", ["-p", "What is new?"], windows([shim]))).toEqual({
      command: "D:\\Win\\System32\\cmd.exe",
      args: ["/d", "/e:on", "/v:off", "/s", "/c", `""${shim}" "-p" "What is new?""`],
      windowsVerbatimArguments: true,
    });
  });

  test("that is no batch file is started as it is, from the first folder that has it", () => {
    const plain = (command: string) => ({ command, args: ["acp"], windowsVerbatimArguments: false });
    const exe = `${npm}\\devin.EXE`;
    expect(startable("devin", ["acp"], windows([exe, `${npm}\\devin.cmd`]))).toEqual(plain(exe));
    expect(startable("devin.exe", ["acp"], windows([exe]))).toEqual(plain(`${npm}\\devin.exe`));
    expect(startable("C:\\tools\\devin", ["acp"], windows(["C:\\tools\\devin.exe"]))).toEqual(
      plain("C:\\tools\\devin.EXE"),
    );
    expect(startable("nobody", ["acp"], windows([]))).toEqual(plain("nobody")); // `spawn` says that there is none
  });

  test("is not taken from the working folder, nor from a relative one", () => {
    const system = windows(["claude.CMD", "relative\\claude.CMD"]);
    expect(startable("claude", [], system).command).toBe("claude");
  });

  test("gets no argument of several lines through the shell", () => {
    for (const argument of ["a\nb", "a\rb", "a\0b"])
      expect(() => startable("claude", [argument], windows([shim]))).toThrow("several lines");
    expect(startable("claude", ["a\nb"], windows([`${npm}\\claude.exe`])).args).toEqual(["a\nb"]);
  });

  test("gets every other argument as it is, and the shell finds no command and no variable in it", () => {
    const pieces = ['"', "\\", "%", "&", "|", "<", ">", "^", "!", " ", "(", "a", "PATH", "ü", ";", ",", "="];
    const argument = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((each) => each.join(""));
    fc.assert(
      fc.property(fc.array(argument, { maxLength: 4 }), (args) => {
        const { args: given } = startable("claude", args, windows([shim]));
        const line = expandsTo(given.at(-1) ?? "");
        expect(programReads(line)).toEqual([shim, ...args]);
        const passedOn = isOneCommand(line.slice(`"${shim}"`.length)); // the batch file's `%*`, read a second time
        expect(programReads(passedOn)).toEqual(args);
      }),
    );
  });
});

test("elsewhere a program is started as it is named", () => {
  const same = { command: "claude", args: ["a b"], windowsVerbatimArguments: false };
  expect(startable("claude", ["a b"], { ...windows([]), platform: "linux" })).toEqual(same);
  expect(startable("claude", ["a b"], { env: {} })).toEqual(same);
});

/** Expands a line behind `/s /c` as the shell does, where every name is a variable. Throws if the shell would read one. */
function expandsTo(line: string): string {
  const text = line.slice(1, -1);
  let expanded = "";
  for (let at = 0; at < text.length; ) {
    const [whole, name] = /^%([^%]+)%/.exec(text.slice(at)) ?? [];
    if (name !== undefined && name !== "cd:~,") throw new Error(`a variable ${name} in ${text}`);
    if (whole === undefined) expanded += text[at];
    at += whole?.length ?? 1;
  }
  return isOneCommand(expanded);
}

/** The same line; throws where a sign of the shell stands outside quotes. */
function isOneCommand(line: string): string {
  let isQuoted = false;
  for (const char of line) {
    if (char === '"') isQuoted = !isQuoted;
    else if (!isQuoted && "&|<>^".includes(char)) throw new Error(`${char} outside quotes in ${line}`);
  }
  return line;
}

/** A command line as the C library of a program splits it. */
function programReads(line: string): string[] {
  const args: string[] = [];
  let at = 0;
  while (at < line.length) {
    if (line[at] === " ") {
      at++;
      continue;
    }
    let argument = "";
    for (let isQuoted = false; at < line.length && (isQuoted || line[at] !== " "); ) {
      const [run = ""] = /^\\*/.exec(line.slice(at)) ?? [];
      at += run.length;
      const meetsQuote = line[at] === '"';
      argument += meetsQuote ? run.slice(0, run.length / 2) : run;
      if (!meetsQuote) {
        if (at < line.length && (isQuoted || line[at] !== " ")) argument += line[at++] ?? "";
      } else if (run.length % 2 === 1) argument += line[at++] ?? "";
      else if (isQuoted && line[at + 1] === '"') {
        argument += '"';
        at += 2;
      } else {
        isQuoted = !isQuoted;
        at++;
      }
    }
    args.push(argument);
  }
  return args;
}
