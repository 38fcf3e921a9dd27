import * as fc from "fast-check";

/**
 * The seed of every property: fixed, so that a run says the same twice and a red one is about the change under test.
 * `MILLRACE_TEST_SEED=random` searches elsewhere (a failure prints its seed), a number goes back there.
 */
const asked = process.env["MILLRACE_TEST_SEED"];
const seed = asked === "random" ? (Math.random() * 2 ** 32) | 0 : Number(asked ?? 20_251_121);
if (!Number.isInteger(seed)) throw new Error(`MILLRACE_TEST_SEED is "${asked}"; give a whole number, or random.`);
fc.configureGlobal({ seed });
