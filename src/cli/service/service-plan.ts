/** The service's program, and the folders of its manager. */
export interface ServiceSpec {
  /** Node and the script, as absolute paths, and the arguments. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly homeFolder: string;
  /** Millrace's own folder. */
  readonly folder: string;
  /** `XDG_CONFIG_HOME`, where it is set. */
  readonly configHome: string | undefined;
  /** `DOMAIN\name`, for Windows; undefined where the system does not say. */
  readonly user?: string | undefined;
  /** The user's number, for launchd. */
  readonly uid: number;
}

export type ServiceAction = "install" | "restart" | "status" | "uninstall";

/** One thing to do to the system, as data, so that it can be shown first. */
export type ServiceStep =
  | { readonly kind: "write"; readonly file: string; readonly text: string; readonly encoding?: "utf8" | "utf16le" }
  | { readonly kind: "remove"; readonly file: string }
  /** `mayFail`: it undoes something that may be missing. */
  | { readonly kind: "run"; readonly program: string; readonly args: readonly string[]; readonly mayFail?: true };

/** A system's service manager: pure, its steps are taken elsewhere. */
export interface ServiceManager {
  readonly title: string;
  /** The file that is there while the service is installed. */
  readonly definition: (spec: ServiceSpec) => string;
  readonly steps: (action: ServiceAction, spec: ServiceSpec) => readonly ServiceStep[];
  /** Whether the output of the `status` step means that the service runs. */
  readonly isRunning: (answer: { readonly stdout: string; readonly exitCode: number }) => boolean;
  /** The note to the user after the installation. */
  readonly note: string;
}
