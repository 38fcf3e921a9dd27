import { describeStream } from "./idempotent.conformance.ts";

describeStream("bidi");
