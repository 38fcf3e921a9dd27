import { expect, test } from "vitest";
import { spellBackend } from "./spell-backend.ts";

test.each([
  [{ kind: "cascade", why: "because" }, "Cascade: because"],
  [{ kind: "acp", why: "because", product: "Devin CLI" }, "Devin CLI (ACP): because"],
  [
    { kind: "cascade", why: "because", beside: "Devin CLI" },
    "Cascade: because; models that only its agent offers go to Devin CLI (ACP)",
  ],
  [{ kind: "none", why: "No IDE runs.", hint: "Start one." }, "nothing yet: No IDE runs. Start one."],
])("%j is spelled as %s", (shown, words) => {
  expect(spellBackend(shown)).toBe(words);
});
