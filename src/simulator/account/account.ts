import type { ClientModelConfig, UserStatus } from "../../proto/windsurf/exa/codeium_common_pb.ts";
import type { ErrorName } from "../faults/error-texts.ts";
import { accountModels, notCallable, retired, uidOfNumber } from "./models.ts";
import type { Plan } from "./plan.ts";
import { userStatus } from "./user-status.ts";

/** The model of one request, or the reason why there is none. */
interface ChosenModel {
  readonly uid: string;
  readonly config: ClientModelConfig | undefined;
  readonly refusal: ErrorName | { readonly text: string } | undefined;
}

/** The person signed in: key, models, plan. */
export class Account {
  readonly apiKey: string;
  readonly signedIn: boolean;
  readonly models: readonly ClientModelConfig[] = accountModels();
  plan: Plan;

  constructor(apiKey: string, signedIn: boolean, plan: Plan) {
    this.apiKey = apiKey;
    this.signedIn = signedIn;
    this.plan = plan;
  }

  status(nowMs: number): UserStatus {
    return userStatus(this.models, this.plan.status(nowMs));
  }

  /** Looks a model up by its UID or its enum number. Source of the texts: docs/wire/language-server.md, "Error texts". */
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
