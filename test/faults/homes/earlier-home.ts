/** A home that an earlier build left, as `make-home.ts` writes it. */
export interface EarlierHome {
  /** When its build was committed. */
  readonly build: string;
  /** When its gateway was killed, epoch ms: its turns are kept for two hours. */
  readonly atMs: number;
  /** Of the home, and of a stream client's records, by name; base64. */
  readonly files: Readonly<Record<string, string>>;
  readonly records: Readonly<Record<string, string>>;
  /** Of the finished turn. */
  readonly answer: string;
  /** Of the large turn; absent of builds that kept none in parts. */
  readonly large?: string;
  /** The id of the background response. */
  readonly background: string;
  readonly streamKey: string;
  /** Makes `turns.db`. */
  readonly sql: readonly string[];
}

/** What the large turn asked. */
export const largeQuestion = "a large question ".repeat(300);
