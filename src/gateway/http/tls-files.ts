import { readFileSync, statSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";
import { MillraceError } from "../../base/errors.ts";

/** Certificate and key of the port, from their files. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Called when new files cannot be used and the old ones stay in use; once for each version of the files. */
  readonly onProblem: (error: Error) => void;
}

/**
 * Opens the certificate and key for new connections; changed files are read again.
 *
 * @throws MillraceError `invalid_request` if they cannot be used at first.
 */
export function openTlsFiles({ certFile, keyFile, onProblem }: TlsFiles): () => SecureContext {
  const versionOf = () =>
    [certFile, keyFile]
      .map((file) => statSync(file, { throwIfNoEntry: false, bigint: true }))
      .map((stat) => (stat === undefined ? "none" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`))
      .join();
  const load = () => {
    try {
      return createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile), minVersion: "TLSv1.2" });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new MillraceError("invalid_request", `The files for TLS cannot be used: ${why}.`, {
        param: "tls",
        hint: `${certFile} has to hold a certificate and ${keyFile} its key, both as PEM.`,
        cause,
      });
    }
  };
  let seen = versionOf();
  let context = load();
  return () => {
    const now = versionOf();
    if (now === seen) return context;
    seen = now;
    try {
      context = load();
    } catch (error) {
      onProblem(error as MillraceError); // the only error that it throws; the second file may follow in a moment
    }
    return context;
  };
}
