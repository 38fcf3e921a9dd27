import { describeStream } from "./idempotent.conformance.ts";
import { tierNames } from "./raw-client.fake.ts";

for (const tier of tierNames) describeStream(tier);
