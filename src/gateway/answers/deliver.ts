import type { PatientReader } from "./patient-reader.ts";

/** Yields the body once. A second request for more shows that the client took it whole. The turn has its reader until then. */
export async function* deliver(text: string, reader: PatientReader): AsyncGenerator<string, void> {
  try {
    yield text;
    await reader.handedOver();
  } finally {
    await reader.close();
  }
}
