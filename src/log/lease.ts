/** The lease of a process in the log; ms. After it others may take over its turns. */
export const leaseMs = 10_000;
