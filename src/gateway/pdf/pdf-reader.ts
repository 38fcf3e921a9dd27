import { createHash } from "node:crypto";
import { startThread } from "../../base/node/thread.ts";

/** What is read of one PDF. */
const mostPages = 100;
const mostMs = 10_000;
const resourceLimits = { maxYoungGenerationSizeMb: 32, maxOldGenerationSizeMb: 256 };

/** A conversation brings its PDFs again in each request: the texts of so many are kept. */
const mostKept = 16;

/** The pages of a PDF that were read, how many it has, and why the others were not read. */
export interface PdfText {
  readonly pages: readonly string[];
  readonly total: number;
  readonly why: string;
}

export interface PdfJob {
  readonly base64: string;
  readonly mostPages: number;
}

export type PdfNews =
  | { readonly type: "loaded" }
  | { readonly type: "opened"; readonly pages: number }
  | { readonly type: "page"; readonly text: string }
  | { readonly type: "end"; readonly why: string };

/** Reads a PDF, given in base64. Never rejects. */
export type PdfReader = (base64: string) => Promise<PdfText>;

/** Reads one PDF at a time, each in a thread of its own: answers stream on meanwhile, and a PDF that is made to exhaust ends only that thread. */
export function openPdfReader(): PdfReader {
  const kept = new Map<string, Promise<PdfText>>();
  let newest: Promise<unknown> = Promise.resolve();
  return (base64) => {
    const digest = createHash("sha256").update(base64).digest("base64");
    const text = kept.get(digest) ?? newest.then(() => readInWorker(base64));
    newest = Promise.all([newest, text]);
    kept.delete(digest);
    kept.set(digest, text);
    const [oldest = digest] = kept.keys();
    if (kept.size > mostKept) kept.delete(oldest);
    return text;
  };
}

function readInWorker(base64: string): Promise<PdfText> {
  const { promise, resolve } = Promise.withResolvers<PdfText>();
  const pages: string[] = [];
  let [total, why] = [0, "it is damaged"];
  let limit: NodeJS.Timeout | undefined;
  const job: PdfJob = { base64, mostPages };
  const worker = startThread("pdf-worker", import.meta.url, { data: job, resourceLimits });
  const end = (reason: string) => {
    why = reason;
    void worker.terminate();
  };
  worker.on("message", (news: PdfNews) => {
    if (news.type === "loaded") limit = setTimeout(end, mostMs, `reading it takes more than ${mostMs / 1000} seconds`);
    else if (news.type === "opened") total = news.pages;
    else if (news.type === "page") pages.push(news.text);
    else end(news.why);
  });
  worker.on("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "ERR_WORKER_OUT_OF_MEMORY") why = "reading it needs too much memory";
  });
  worker.on("exit", () => {
    clearTimeout(limit);
    resolve({ pages, total, why });
  });
  return promise;
}
