import { expect, test } from "vitest";
import {
  ownProcess,
  type ProcessOwner,
  parseMachineGuid,
  parsePlatformUuid,
  readOwner,
  spellOwner,
  stateOfOwner,
} from "./process-owner.ts";

const self = { ...ownProcess(), space: "", machine: "here", boot: "today" };
const gone = 4_194_303; // the largest pid that Linux gives

test.each<[string, Partial<ProcessOwner>, string]>([
  ["this process", {}, "alive"],
  ["a pid that nobody has", { pid: gone }, "gone"],
  ["a pid that another process has by now", { started: "1" }, "gone"],
  ["a start that nobody knows", { started: "" }, "alive"],
  ["an earlier start of this machine", { boot: "yesterday" }, "gone"],
  ["another machine", { machine: "there", pid: gone }, "elsewhere"],
  ["a container on this machine", { space: "box", pid: gone }, "elsewhere"],
  ["a container of an image with this machine's id", { boot: "yesterday", space: "box" }, "elsewhere"],
])("%s", (_, owner, state) => {
  expect(stateOfOwner({ ...self, ...owner }, self)).toBe(state);
});

test("a machine that got another id is the same one until it starts again, where its process ids are the same", () => {
  const here = { ...self, space: "main" };
  const before = { ...here, machine: "there", pid: gone };
  expect(stateOfOwner(before, here)).toBe("gone");
  expect(stateOfOwner({ ...before, boot: "yesterday" }, here)).toBe("elsewhere");
  expect(stateOfOwner({ ...before, space: "box" }, here)).toBe("elsewhere");
});

test("an owner is read back as it was written, with a name after it or without", () => {
  const owner = ownProcess();
  expect([spellOwner(owner), `${spellOwner(owner)}/instance`, `${spellOwner(owner)} mark`].map(readOwner)).toEqual([
    owner,
    owner,
    owner,
  ]);
  expect(["", "laptop/4711/instance", "4711 mark"].map(readOwner)).toEqual([undefined, undefined, undefined]);
});

test("the machine's id is read from what macOS and Windows print", () => {
  const uuid = "7D3F1B0C-55A1-5D3C-9C0E-0B5F0A5C1E11";
  const ioreg = `+-o J314sAP  <class IOPlatformExpertDevice, id 0x100000227>\n    {\n      "IOPlatformUUID" = "${uuid}"\n    }`;
  const query =
    "\r\nHKEY_LOCAL_MACHINE\\SOFTWARE\\Microsoft\\Cryptography\r\n    MachineGuid    REG_SZ    c0ffee00-1234\r\n";
  expect([parsePlatformUuid(ioreg), parseMachineGuid(query)]).toEqual([uuid, "c0ffee00-1234"]);
  expect([parsePlatformUuid(""), parseMachineGuid("FEHLER")]).toEqual([undefined, undefined]);
});
