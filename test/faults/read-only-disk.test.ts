import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { mayMount, smallDisk } from "../support/small-disk.ts";

/** Mounting needs a right that not every user has: a reason to skip. */
test.skipIf(!mayMount)(
  "doctor says that a read-only home cannot be written, and promises nothing of a first start",
  async () => {
    const disk = smallDisk(16);
    disk.readOnly(true);
    const { stdout } = await millrace(["doctor"], { home: disk.folder });
    expect(stdout).toMatch(/✗ \S+ cannot be written: the disk is read-only/);
    expect(stdout).not.toContain("There is no store yet");
  },
);
