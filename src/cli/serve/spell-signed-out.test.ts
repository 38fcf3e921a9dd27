import { expect, test } from "vitest";
import { isRemoteFolder } from "../../ide/process/classify.ts";
import { spellSignedOut } from "./servers.ts";

test.each([
  ["/home/ada/.windsurf-server/bin/0a1b/extensions/windsurf/bin/language_server_linux_x64", true],
  ["/home/ada/.devin-next-server/bin/0a1b/extensions/windsurf/bin/language_server_linux_x64", true],
  ["/usr/share/windsurf/resources/app/extensions/windsurf/bin/language_server_linux_x64", false],
])("%s is a remote window's: %s", (program, isRemote) => {
  expect(isRemoteFolder(program)).toBe(isRemote);
});

test("a remote window's account is on the other side, and its user is not told to sign in", () => {
  const { what, todo } = spellSignedOut({ product: "Windsurf 2.2", isRemote: true });
  expect(what).toContain("its account is on the side where you see that window");
  expect(todo).toMatch(/^Install the Devin CLI on this side and run `devin auth login`.*--token-file/);
  expect(todo).not.toContain("Sign in");
  expect(spellSignedOut({ product: "Windsurf 2.2" }).todo).toBe("Sign in inside the IDE.");
});
