import { existsSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { removeLinks, shortPath, socketAddress } from "./socket-address.ts";

test("a short path is its own address", () => {
  expect(socketAddress("/home/me/agents/a.agent")).toBe("/home/me/agents/a.agent");
});

test("a path that is too long is reached through a folder for temporary files that is near enough", () => {
  const file = `/home/${"x".repeat(100)}/a.agent`;
  const near = shortPath(file, "/var/tmp");
  expect([near.address, near.link]).toEqual([
    `${near.link}/a.agent`,
    expect.stringMatching(/^\/var\/tmp\/millrace-\w{16}$/),
  ]);
  expect(shortPath(file, `/${"y".repeat(100)}`).link).toBe(`/tmp/${near.link?.slice("/var/tmp/".length)}`);
  expect(shortPath(file, "/no/such/folder").link).toBe(`/tmp/${near.link?.slice("/var/tmp/".length)}`);
  expect(shortPath(`/home/${"x".repeat(100)}/${"a".repeat(100)}.agent`)).toEqual({
    address: undefined,
    link: undefined,
  });
});

test.skipIf(process.platform === "win32")(
  "a link that leads elsewhere is not followed, and nothing is put in its place",
  () => {
    const folder = temporaryFolder();
    const file = join(folder, "x".repeat(100), "a.agent");
    const { link = "" } = shortPath(file);
    onTestFinished(() => rmSync(link, { recursive: true, force: true }));
    mkdirSync(dirname(file));
    expect([socketAddress(file), readlinkSync(link)]).toEqual([join(link, "a.agent"), dirname(file)]);
    removeLinks(dirname(file));
    expect(existsSync(link)).toBe(false);
    symlinkSync(folder, link);
    removeLinks(dirname(file)); // not ours
    expect(() => socketAddress(file)).toThrow("not this program's");
    expect(readlinkSync(link)).toBe(folder);
  },
);
