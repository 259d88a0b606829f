import type { paths } from "./api.gen.js";
import { type Status, WayfarerError } from "./errors.js";
import { parseEvents, parseLines } from "./events.js";

type Verb = "get" | "post";
type Operation<P extends keyof paths, V extends Verb> = NonNullable<paths[P][V]>;
type Having<V extends Verb> = { [P in keyof paths]: [Operation<P, V>] extends [never] ? never : P }[keyof paths];
type Ok<O> = O extends { responses: { 200: { content: infer C } } } ? C : never;

/** Paths that are read. */
export type GetPath = Exclude<Having<"get">, `${string}:watch`>;
/** Paths that are posted to and answer a stream. */
export type StreamPath = { [P in Having<"post">]: "application/x-ndjson" extends keyof Ok<Operation<P, "post">> ? P : never }[Having<"post">];
/** Paths that are posted to: everything that changes or computes something. */
export type PostPath = Exclude<Having<"post">, StreamPath>;
/** Paths that are watched. */
export type WatchPath = Extract<Having<"get">, `${string}:watch`>;

/** What a path answers. */
export type Answer<P extends keyof paths, V extends Verb> = Ok<Operation<P, V>> extends { "application/json": infer A } ? A : never;
/** What a watched path sends: a record with its events. */
export type Update<P extends WatchPath> = Ok<Operation<P, "get">> extends { "application/x-ndjson": infer A } ? A : never;
/** What a path that answers a stream sends. */
export type Part<P extends StreamPath> = Ok<Operation<P, "post">> extends { "application/x-ndjson": infer A } ? A : never;
/** What is posted to a path. */
export type Body<P extends PostPath | StreamPath> =
  NonNullable<Operation<P, "post">["requestBody"]> extends { content: { "application/json": infer B } } ? B : never;

type Ids<O> = O extends { parameters: { path: infer I } } ? { path: I } : { path?: never };
type Query<O> = O extends { parameters: { query?: infer Q } } ? ([NonNullable<Q>] extends [never] ? { query?: never } : { query?: NonNullable<Q> }) : { query?: never };

interface Common {
  /** Ends the call. */
  signal?: AbortSignal;
}

/** How a path is read. */
export type GetInit<P extends GetPath> = Ids<Operation<P, "get">> & Query<Operation<P, "get">> & Common;

/** How a path is posted to. */
export type PostInit<P extends PostPath> = Ids<Operation<P, "post">> & {
  body: Body<P>;
  /**
   * 1 to 128 printable ASCII characters, under which the change is made once, however often it is sent. Without one, and
   * without `requestId` in the body, the client makes one, so that it may repeat the request after a failure on the way.
   */
  requestId?: string;
} & Common;

/** How a path that answers a stream is posted to. */
export type StreamInit<P extends StreamPath> = Ids<Operation<P, "post">> & { body: Body<P> } & Common;

/** How a path is watched. */
export type WatchInit<P extends WatchPath> = Ids<Operation<P, "get">> & {
  /** Records after this one are sent; 0, the default, sends all. */
  fromSeq?: number;
} & Common;

/** How the server is reached. */
export interface Options {
  /** Where the server is, for example "http://localhost:8080". Default: the origin of the page, in a browser. */
  baseUrl?: string;
  /** The bearer token, or what gets one; it is asked before each request, so it may refresh. */
  token?: string | (() => string | Promise<string>);
  /** How often a request is sent at most, the first time included; default 4. */
  attempts?: number;
  /** How long a watched stream may be silent before it is taken for lost, in milliseconds; default 60,000. The server comments every 15 s. */
  silence?: number;
  /** In place of the global fetch. */
  fetch?: typeof globalThis.fetch;
  /** In place of a timer: waits so many milliseconds, and fails when the signal says so. */
  wait?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** A client of one server in the name of one caller. */
export class Wayfarer {
  readonly #base: string;
  readonly #token: Options["token"];
  readonly #attempts: number;
  readonly #silence: number;
  readonly #fetch: typeof globalThis.fetch;
  readonly #wait: NonNullable<Options["wait"]>;

  constructor(options: Options = {}) {
    this.#base = (options.baseUrl ?? "").replace(/\/+$/, "");
    this.#token = options.token;
    this.#attempts = options.attempts ?? 4;
    this.#silence = options.silence ?? 60_000;
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#wait = options.wait ?? sleep;
  }

  /** Reads a path. Fails with a WayfarerError. */
  async get<P extends GetPath>(path: P, ...[init]: Optional<GetInit<P>>): Promise<Answer<P, "get">> {
    const { signal } = init ?? {};
    const url = this.#url(path, init);
    const res = await this.#send(url, { method: "GET", ...(signal && { signal }) });
    return (await res.json()) as Answer<P, "get">;
  }

  /** Posts to a path. Fails with a WayfarerError, whose requestId is that under which the change may be sent again. */
  async post<P extends PostPath>(path: P, init: PostInit<P>): Promise<Answer<P, "post">> {
    const { signal, body } = init;
    const own = (body as { requestId?: string }).requestId;
    const id = own || init.requestId || crypto.randomUUID();
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    if (!own) headers["Idempotency-Key"] = id;
    const url = this.#url(path, init);
    const res = await this.#send(url, { method: "POST", headers, body: JSON.stringify(body), ...(signal && { signal }) }, id);
    return (await res.json()) as Answer<P, "post">;
  }

  /** Posts to a path that answers part by part. It computes and changes nothing, and is not taken up again. */
  async *stream<P extends StreamPath>(path: P, init: StreamInit<P>): AsyncGenerator<Part<P>, void, undefined> {
    const { signal } = init;
    const res = await this.#send(this.#url(path, init), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(init.body),
      ...(signal && { signal }),
    });
    if (!res.body) return;
    for await (const line of parseLines(res.body)) {
      const part = JSON.parse(line) as { error?: Status };
      if (part.error) throw new WayfarerError(0, part.error);
      yield part as Part<P>;
    }
  }

  /**
   * Watches a path: every record after `fromSeq`, then those to come. A lost connection is taken up again where it broke
   * off, so that nothing is missing and nothing comes twice. Ends when the server has nothing more to send, or with the
   * signal; fails with a WayfarerError when the server refuses, and with the last failure when it cannot be reached so
   * many times in a row.
   */
  async *watch<P extends WatchPath>(path: P, init: WatchInit<P>): AsyncGenerator<Update<P>, void, undefined> {
    let seq = String(init.fromSeq ?? 0);
    const url = this.#url(path, { path: init.path });
    for (let failures = 0; ; ) {
      // The stream's own end, so that leaving the loop or silence closes the connection.
      const over = new AbortController();
      const end = (): void => over.abort(init.signal?.reason);
      init.signal?.addEventListener("abort", end, { once: true });
      if (init.signal?.aborted) end();
      try {
        const res = await this.#once(url, {
          headers: { Accept: "text/event-stream", "Last-Event-ID": seq },
          signal: over.signal,
        });
        if (!res.body) return;
        // A comment of the server shows that it was reached: a watch may be quiet for weeks, and lose its connection many times.
        const reached = (chunk: Uint8Array): void => {
          if (chunk[0] === COLON) failures = 0;
        };
        for await (const e of parseEvents(this.#unlessSilent(res.body, over, reached))) {
          const data = JSON.parse(e.data) as { error?: Status };
          if (e.event === "error") throw new WayfarerError(0, data.error ?? {});
          seq = e.id || seq;
          failures = 0;
          yield data as Update<P>;
        }
        return;
      } catch (err) {
        if (init.signal?.aborted) return;
        failures++;
        const after = patience(err, failures);
        if (after === undefined || failures >= this.#attempts) throw err;
        await this.#wait(after, init.signal).catch(() => undefined);
        if (init.signal?.aborted) return;
      } finally {
        init.signal?.removeEventListener("abort", end);
        over.abort();
      }
    }
  }

  #url(path: string, init: { path?: unknown; query?: unknown } | undefined): string {
    const ids = (init?.path ?? {}) as Record<string, string>;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const id = ids[name];
      if (id === undefined) throw new TypeError(`${path} needs an id for ${name}`);
      return encodeURIComponent(id);
    });
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries((init?.query ?? {}) as Record<string, unknown>)) {
      for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) query.append(name, String(one));
    }
    return this.#base + filled + (query.size > 0 ? `?${query}` : "");
  }

  /** Sends a request, and again while that may help; a change goes under the same id each time. */
  async #send(url: string, init: RequestInit, requestId?: string): Promise<Response> {
    for (let failures = 1; ; failures++) {
      try {
        return await this.#once(url, init, requestId);
      } catch (err) {
        const after = init.signal?.aborted ? undefined : patience(err, failures);
        if (after === undefined || failures >= this.#attempts) throw err;
        await this.#wait(after, init.signal ?? undefined);
      }
    }
  }

  async #once(url: string, init: RequestInit, requestId?: string): Promise<Response> {
    const headers = new Headers(init.headers);
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    if (token) headers.set("Authorization", `Bearer ${token}`);
    const res = await this.#fetch(url, { ...init, headers });
    if (res.ok) return res;
    const text = await res.text();
    let status: Status;
    try {
      status = JSON.parse(text) as Status;
    } catch {
      // Of something on the way, such as a proxy that does not reach the server.
      status = { code: res.status === 502 || res.status === 503 || res.status === 504 ? 14 : 2, message: `HTTP ${res.status}: ${text.slice(0, 200)}` };
    }
    throw new WayfarerError(res.status, status, requestId);
  }

  /** Passes a body on, and gives the connection up when nothing has come for too long. */
  async *#unlessSilent(body: ReadableStream<Uint8Array>, connection: AbortController, came: (chunk: Uint8Array) => void): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = body.getReader();
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      for (;;) {
        timer = setTimeout(() => connection.abort(new TypeError("the stream fell silent")), this.#silence);
        const { done, value } = await reader.read();
        clearTimeout(timer);
        if (done) return;
        came(value);
        yield value;
      }
    } finally {
      clearTimeout(timer);
      await reader.cancel().catch(() => undefined);
    }
  }
}

/** What a comment of a stream of events begins with. */
const COLON = ":".charCodeAt(0);

/** An argument that may be left out where nothing in it is needed. */
type Optional<T> = Record<never, never> extends T ? [init?: T] : [init: T];

/** How long to wait before trying again, in milliseconds; undefined: it would not help. */
function patience(err: unknown, failures: number): number | undefined {
  const backoff = Math.min(100 * 2 ** (failures - 1), 5000) * (0.5 + Math.random() / 2);
  if (err instanceof WayfarerError) return err.retryAfter === undefined ? undefined : Math.max(err.retryAfter, backoff);
  // fetch fails with a TypeError when the connection does; what is broken off while it is read fails in other ways.
  return err instanceof SyntaxError ? undefined : backoff;
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const end = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}

/** Gets a token for a user of the development issuer, which a server on one machine has. It is not for production. */
export async function developmentToken(baseUrl: string, username: string, password: string): Promise<string> {
  const res = await fetch(`${baseUrl.replace(/\/+$/, "")}/dev/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "password", username, password }),
  });
  const answer = (await res.json()) as { access_token?: string; error_description?: string };
  if (!res.ok || !answer.access_token) throw new Error(`no token: ${answer.error_description ?? `HTTP ${res.status}`}`);
  return answer.access_token;
}
