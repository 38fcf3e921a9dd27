import type { PatientReader } from "./patient-reader.ts";

/** One body; that more is asked of it says that the client took it whole. Its reader is there until then. */
export async function* deliver(text: string, reader: PatientReader): AsyncGenerator<string, void> {
  try {
    yield text;
    await reader.handedOver();
  } finally {
    await reader.close();
  }
}
