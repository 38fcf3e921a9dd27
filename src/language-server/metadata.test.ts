import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { systemClock } from "../base/clock.ts";
import { Secret } from "../base/secret.ts";
import { createWireIds, metadataFor } from "./metadata.ts";

describe("request ids", () => {
  it("start at the time in ms and only grow, for any clock", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -5_000, max: 5_000 }), { maxLength: 50 }), (jumps) => {
        let now = 1_770_000_000_000;
        const ids = createWireIds({ ...systemClock, now: () => now });
        let last = ids.nextRequestId();
        expect(last).toBe(1_770_000_000_000n);
        for (const jump of jumps) {
          now += jump;
          const next = ids.nextRequestId();
          expect(next > last).toBe(true);
          last = next;
        }
      }),
    );
  });
});

describe("metadata", () => {
  it("takes the IDE's version for the extension where that is not known", () => {
    const identity = {
      variant: "windsurf-next",
      ideVersion: "2.2.17",
      extensionVersion: "",
      extensionPath: "",
      apiKey: new Secret("k"),
    } as const;
    const clock = new FakeClock();
    const machine = { os: "linux", hardware: "x86_64", deviceFingerprint: "ab" };
    const metadata = metadataFor(identity, machine, createWireIds(clock), clock);
    expect(metadata).toMatchObject({
      ideName: "windsurf-next",
      ideType: "windsurf",
      extensionVersion: "2.2.17",
      os: "linux",
      hardware: "x86_64",
      deviceFingerprint: "ab",
    });
  });
});
