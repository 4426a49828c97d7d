/**
 * Node's `http`. An `import` of it reads all its exports, also `WebSocket`, and so loads Node's HTTP client undici: 12 MB
 * of memory in a service that never calls `fetch`.
 */
export const http = process.getBuiltinModule('node:http');
