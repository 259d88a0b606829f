/**
 * A client of Wayfarer's REST API. Paths, bodies and answers are typed by the server's OpenAPI document; what the client
 * adds is the token, request ids, repetition that is safe, errors with reasons, and streams that resume.
 */
export { developmentToken, Wayfarer } from "./client.js";
export type { Answer, Body, GetInit, GetPath, Options, Part, PostInit, PostPath, StreamInit, StreamPath, Update, WatchInit, WatchPath } from "./client.js";
export { WayfarerError } from "./errors.js";
export type { Code, FieldViolation, Status } from "./errors.js";
export { parseEvents } from "./events.js";
export type { ServerEvent } from "./events.js";
export type { components, operations, paths } from "./api.gen.js";

import type { components } from "./api.gen.js";
/** Messages by their full names, for example Schemas["wayfarer.dungeon.v1.Run"]. */
export type Schemas = components["schemas"];
