import { describe, expect, it } from "vitest";
import { readSocketAddress, spellSocketAddress, spellSocketGuard } from "./socket-address.ts";

describe("the address of a socket", () => {
  it.each(["\\\\.\\pipe\\millrace", "\\\\?\\pipe\\millrace", "\\\\.\\PIPE\\ada's gateway"])(
    "is the pipe %s on Windows, and nothing elsewhere",
    (name) => {
      expect(readSocketAddress(name, "win32")).toEqual({ kind: "pipe", path: name });
      for (const platform of ["linux", "darwin"] as const)
        expect(() => readSocketAddress(name, platform)).toThrow("only Windows has those");
    },
  );

  it.each(["/run/user/1000/millrace.sock", "millrace.sock", "a\\b"])("is the path %s elsewhere", (path) => {
    expect(readSocketAddress(path, "linux")).toEqual({ kind: "unix", path });
    expect(() => readSocketAddress(path, "win32")).toThrow("needs the name of a named pipe");
  });

  it.each([
    ["of another machine", "\\\\server\\pipe\\millrace"],
    ["without a name", "\\\\.\\pipe\\"],
    ["with a backslash in its name", "\\\\.\\pipe\\a\\b"],
    ["with too long a name", `\\\\.\\pipe\\${"a".repeat(248)}`],
  ])("is no pipe %s", (_, name) => {
    expect(() => readSocketAddress(name, "win32")).toThrow("not the name of a pipe on this machine");
  });

  it("says what it is and what guards it", () => {
    const pipe = { kind: "pipe", path: "\\\\.\\pipe\\millrace" } as const;
    const unix = { kind: "unix", path: "/run/millrace.sock" } as const;
    expect([pipe, unix].map(spellSocketAddress)).toEqual(["pipe:\\\\.\\pipe\\millrace", "unix:/run/millrace.sock"]);
    expect(spellSocketGuard(unix)).toContain("mode 0600");
    expect(spellSocketGuard(pipe)).toMatch(/no file mode.*key/);
  });
});
