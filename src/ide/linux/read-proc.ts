import { close, open, read, readdir, readlink } from "node:fs";

/**
 * Reads of `/proc` that cannot hang the caller: each ends with the signal, even if the kernel does not answer, and takes a bounded
 * number of bytes. Callbacks instead of promises, because a scan opens thousands of files and this is three times as fast.
 */

const tables = /\/net\/[^/]+$/;

/** The file's first `maxBytes` as text; undefined when it is gone or forbidden. Rejects only with the signal's reason. */
export function readProcFile(path: string, maxBytes: number, signal: AbortSignal): Promise<string | undefined> {
  return settled<string | undefined>(signal, (done) => {
    open(path, "r", (openError, fd) => {
      if (openError) return done(undefined);
      const chunks: Buffer[] = [];
      let total = 0;
      const finish = (text: string | undefined) => {
        close(fd, () => {}); // nothing was written: closing cannot fail in a way that matters
        done(text);
      };
      const next = () => {
        const chunk = Buffer.allocUnsafe(Math.min(maxBytes - total, chunks.length === 0 ? 4096 : 65_536));
        read(fd, chunk, 0, chunk.length, null, (readError, bytes) => {
          if (readError) return finish(undefined); // the process ended while we read
          chunks.push(chunk.subarray(0, bytes));
          total += bytes;
          // Files of one process come whole; tables come a page at a time, each read shorter than asked.
          const ended =
            bytes === 0 || total >= maxBytes || (chunks.length === 1 && bytes < chunk.length && !tables.test(path));
          if (ended || signal.aborted) finish(Buffer.concat(chunks).toString("utf8"));
          else next();
        });
      };
      next();
    });
  });
}

/** Names in a folder; undefined when it is gone or forbidden. */
export function readProcFolder(path: string, signal: AbortSignal): Promise<readonly string[] | undefined> {
  return settled<readonly string[] | undefined>(signal, (done) => {
    readdir(path, (error, names) => done(error ? undefined : names));
  });
}

export function readProcLink(path: string, signal: AbortSignal): Promise<string | undefined> {
  return settled<string | undefined>(signal, (done) => {
    readlink(path, (error, target) => done(error ? undefined : target));
  });
}

function settled<T>(signal: AbortSignal, start: (done: (value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error); // passed on as the aborter gave it
      return;
    }
    const onAbort = () => reject(signal.reason as Error); // as above
    signal.addEventListener("abort", onAbort, { once: true });
    start((value) => {
      signal.removeEventListener("abort", onAbort);
      resolve(value);
    });
  });
}
