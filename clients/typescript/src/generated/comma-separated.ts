// Generated from services/api/src/openapi.yaml by `npm run client`. Do not edit.

/** Query parameters whose items are written in one value, separated by commas. */
export const COMMA_SEPARATED: ReadonlySet<string> = new Set(["fields","fn"]);
