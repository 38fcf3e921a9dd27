/** Seals the recorded records. */
export const recordKey = new Uint8Array(32).fill(7);

export const streamKeys: readonly string[] = ["stream-a", "stream-b", "stream-c"];
