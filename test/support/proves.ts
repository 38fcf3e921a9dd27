/**
 * Says in a test which requirements of docs/dev/wire/requirements.json it proves: `proves("chat.done-last")`. It does nothing at run time:
 * `scripts/requirements.test.ts` fails for an id that no test cites, and for one that is not there.
 */
export function proves(..._ids: readonly string[]): void {}
