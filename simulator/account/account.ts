import type { ClientModelConfig, UserStatus } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import type { ErrorName } from "../faults/error-texts.ts";
import { accountModels, notCallable, retired, uidOfNumber } from "./models.ts";
import type { Plan } from "./plan.ts";
import { userStatus, withoutNewFields } from "./user-status.ts";

/** The model of one request, or the reason why there is none. */
interface ChosenModel {
  readonly uid: string;
  readonly config: ClientModelConfig | undefined;
  readonly refusal: ErrorName | { readonly text: string } | undefined;
}

interface Person {
  readonly apiKey: string;
  readonly signedIn: boolean;
  /** Whether the build is older than the newest fields of an account. */
  readonly isOld: boolean;
  /** How many models are listed; the table's where undefined. */
  readonly models: number | undefined;
}

/** The person signed in: key, models, plan. */
export class Account {
  readonly apiKey: string;
  readonly signedIn: boolean;
  readonly models: readonly ClientModelConfig[];
  plan: Plan;

  readonly #isOld: boolean;

  constructor({ apiKey, signedIn, isOld, models }: Person, plan: Plan) {
    this.models = accountModels(models);
    this.apiKey = apiKey;
    this.#isOld = isOld;
    this.signedIn = signedIn;
    this.plan = plan;
  }

  status(nowMs: number): UserStatus {
    const status = userStatus(this.models, this.plan.status(nowMs));
    return this.#isOld ? withoutNewFields(status) : status;
  }

  /** Looks a model up by its UID or its enum number. Source of the texts: docs/dev/wire/language-server.md, "Error texts". */
  choose(uid: string, number: number, nowMs: number): ChosenModel {
    const name = uid === "" ? (uidOfNumber(number) ?? "") : uid;
    const config = this.models.find((model) => model.modelUid === name);
    const listedNumber = config?.modelOrAlias?.choice.case === "model" ? config.modelOrAlias.choice.value : number;
    if (retired.has(listedNumber)) return { uid: name, config, refusal: "retired" };
    if (config === undefined || notCallable.has(name)) {
      return { uid: name, config, refusal: { text: `unknown model UID ${name}: model not found` } };
    }
    if (config.disabled) return { uid: name, config, refusal: "permission" };
    const usedUp = config.creditMultiplier > 0 ? this.plan.refusal(nowMs) : undefined;
    const tooMany = usedUp === undefined && this.plan.messages?.take(name, nowMs) === false;
    return { uid: name, config, refusal: usedUp ?? (tooMany ? "rate_limit" : undefined) };
  }
}
