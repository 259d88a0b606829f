// Calls REST in the name of one caller: errors with reasons, changes that may be sent again, streams that resume.

/** A call that the server refused, or that did not reach it (http is 0). */
export class Refusal extends Error {
  constructor(http, status) {
    super(status.message || `HTTP ${http}`);
    this.http = http;
    this.code = status.code ?? 2;
    const detail = (type) => (status.details ?? []).find((d) => String(d["@type"]).endsWith(`/google.rpc.${type}`)) ?? {};
    this.reason = detail("ErrorInfo").reason ?? "";
    this.metadata = detail("ErrorInfo").metadata ?? {};
    this.field = detail("BadRequest").fieldViolations?.[0]?.field ?? "";
    this.away = this.code === 14 || http === 0;
  }
}

/** A request id. It works without a secure context, where crypto.randomUUID does not. */
export function requestId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

/** Reads server-sent events: {id, event, data} of each. */
export async function* readEvents(reader) {
  const decoder = new TextDecoder();
  let rest = "", id = "", event = "", data = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (data.length) yield { id, event, data: data.join("\n") };
        event = "";
        data = [];
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "data") data.push(text);
      else if (field === "event") event = text;
      else if (field === "id") id = text;
    }
  }
}

const pause = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
});

/** The REST API for one token. */
export class Api {
  /** expired is called when the server takes the token no more; backoff is the first wait after a lost connection, in ms. */
  constructor(token, { expired = () => {}, fetch = globalThis.fetch.bind(globalThis), backoff = 500 } = {}) {
    Object.assign(this, { token, expired, fetch, backoff });
  }

  async #call(path, init = {}) {
    let res;
    try {
      res = await this.fetch(`/v1/${path}`, { ...init, headers: { ...init.headers, Authorization: `Bearer ${this.token}` } });
    } catch (err) {
      if (init.signal?.aborted) throw err;
      throw new Refusal(0, { code: 14, message: "The server does not answer." });
    }
    if (res.ok) return res;
    const status = await res.json().catch(() => ({ code: res.status >= 502 && res.status <= 504 ? 14 : 2 }));
    if (res.status === 401) this.expired();
    throw new Refusal(res.status, status);
  }

  async get(path) {
    return (await this.#call(path)).json();
  }

  /** Posts, and again under the same id while the server is away. */
  async post(path, body, id) {
    for (let tries = 1; ; tries++) {
      try {
        const res = await this.#call(path, {
          method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", "Idempotency-Key": id },
        });
        return await res.json();
      } catch (err) {
        const away = err instanceof Refusal ? err.away : true; // an answer that broke off
        if (!away || tries === 4) throw err;
        await pause(this.backoff * 2 ** (tries - 1));
      }
    }
  }

  /**
   * Calls on(update) for every record after seq, until the stream is over or the signal ends it. A lost connection is taken
   * up again after the last record, for as long as it takes; live(false) and live(true) say how it stands.
   */
  async watch(name, seq, { signal, on, live = () => {} }) {
    for (let failures = 0; !signal.aborted; ) {
      // The server comments every 15 s: silence is a connection that is lost without a word.
      const over = new AbortController();
      const end = () => over.abort();
      signal.addEventListener("abort", end, { once: true });
      let silence = setTimeout(end, 60000);
      try {
        const res = await this.#call(`${name}:watch`, { headers: { Accept: "text/event-stream", "Last-Event-ID": String(seq) }, signal: over.signal });
        live(true);
        const body = res.body.getReader();
        const reader = { read: () => { clearTimeout(silence); silence = setTimeout(end, 60000); return body.read(); } };
        for await (const e of readEvents(reader)) {
          const data = JSON.parse(e.data);
          if (e.event === "error") throw new Refusal(0, data.error ?? {});
          seq = Number(e.id) || seq;
          failures = 0;
          on(data);
        }
        return;
      } catch (err) {
        if (signal.aborted) return;
        if (err instanceof Refusal && !err.away && err.code !== 14) throw err;
        live(false);
        await pause(Math.min(this.backoff * 2 ** failures++, 15000) * (0.5 + Math.random() / 2), signal);
      } finally {
        clearTimeout(silence);
        signal.removeEventListener("abort", end);
      }
    }
  }
}

/** Tells whether this server has a development issuer. */
export async function hasIssuer() {
  const res = await fetch("/dev/.well-known/openid-configuration").catch(() => null);
  return Boolean(res?.ok);
}

/** Gets a token from the development issuer. */
export async function login(username, password) {
  const res = await fetch("/dev/token", { method: "POST", body: new URLSearchParams({ grant_type: "password", username, password }) });
  const answer = await res.json().catch(() => ({}));
  if (!res.ok || !answer.access_token) throw new Error(answer.error_description || `The issuer answers HTTP ${res.status}.`);
  return answer.access_token;
}

/** What a token says of itself; the server alone decides what it is worth. */
export function claims(token) {
  try {
    const part = token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (c) => c.charCodeAt(0))));
  } catch {
    return {};
  }
}
