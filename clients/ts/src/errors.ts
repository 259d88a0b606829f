import type { components } from "./api.gen.js";

/** The answer to a call that failed, as the server sends it. */
export type Status = components["schemas"]["google.rpc.Status"];

/** A field that a request has wrong. */
export interface FieldViolation {
  /** Path of the field, for example "abilities" or "dungeon.cards[0].level". */
  field: string;
  /** For people. */
  description: string;
  /** For programs; empty where the reason of the whole error says it all. */
  reason: string;
}

/** Names of the codes of gRPC by number. */
const codes = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

/** A code of gRPC. */
export type Code = (typeof codes)[number];

/** A call that the server refused or could not do. */
export class WayfarerError extends Error {
  override readonly name = "WayfarerError";
  /** HTTP status; 0 for an error that ended an event stream. */
  readonly http: number;
  /** What kind of failure it is. */
  readonly code: Code;
  /** What programs decide by, for example "NOT_GM" or "LEASED"; empty if the server named none. */
  readonly reason: string;
  /** The first wrong field; empty if no field is wrong. */
  readonly field: string;
  /** All wrong fields. */
  readonly violations: readonly FieldViolation[];
  /** Facts that belong to the reason, such as "suggestions" of the console. */
  readonly metadata: Readonly<Record<string, string>>;
  /** How long to wait before the same request may succeed, in milliseconds; undefined: repeating it does not help. */
  readonly retryAfter: number | undefined;
  /** The request id of a change, under which it may be sent again. */
  readonly requestId: string | undefined;

  constructor(http: number, status: Status, requestId?: string) {
    super(status.message ?? "");
    this.http = http;
    this.code = codes[status.code ?? 2] ?? "UNKNOWN";
    this.requestId = requestId;
    let reason = "";
    let metadata: Record<string, string> = {};
    let violations: FieldViolation[] = [];
    let retryAfter: number | undefined;
    for (const raw of status.details ?? []) {
      const detail = raw as Record<string, unknown>;
      switch (String(detail["@type"]).split("/").pop()) {
        case "google.rpc.ErrorInfo":
          reason = String(detail.reason ?? "");
          metadata = (detail.metadata as Record<string, string> | undefined) ?? {};
          break;
        case "google.rpc.BadRequest":
          violations = ((detail.fieldViolations as Partial<FieldViolation>[] | undefined) ?? []).map((v) => ({
            field: v.field ?? "",
            description: v.description ?? "",
            reason: v.reason ?? "",
          }));
          break;
        case "google.rpc.RetryInfo":
          retryAfter = Number.parseFloat(String(detail.retryDelay)) * 1000;
          if (!Number.isFinite(retryAfter)) retryAfter = undefined;
          break;
      }
    }
    if (retryAfter === undefined && this.code === "UNAVAILABLE") retryAfter = 1000;
    this.reason = reason;
    this.metadata = metadata;
    this.violations = violations;
    this.field = violations[0]?.field ?? "";
    this.retryAfter = retryAfter;
  }
}
