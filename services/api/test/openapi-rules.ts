import type { RulesetDefinition } from '@stoplight/spectral-core';
import owasp from '@stoplight/spectral-owasp-ruleset';

/** The rules of the OWASP API Security Top 10 (2023) for the OpenAPI document. A rule that is off has its reason. */
export const openapiRules: RulesetDefinition = {
  // Its own types are narrower than those of Spectral.
  extends: [[owasp as unknown as RulesetDefinition, 'all']],
  rules: {
    // The limits count requests, bytes and wrong keys (docs/access.md), which the headers of the draft
    // draft-ietf-httpapi-ratelimit-headers cannot express together. An answer 429 has `Retry-After`.
    'owasp:api4:2023-rate-limit': 'off',
    // The header is sent to the pages in CORS_ORIGINS only, on every answer to them. Without that setting no answer has it.
    'owasp:api8:2023-define-cors-origin': 'off',
    // Each installation serves the document for itself. Its operator decides who can reach it.
    'owasp:api9:2023-inventory-access': 'off',
    'owasp:api9:2023-inventory-environment': 'off',
    // Every operation has the answer `default`, which includes 500.
    'owasp:api8:2023-define-error-responses-500': 'off',
  },
};

/** Places where a rule does not apply: the code of the rule, the place, and the reason. */
export const openapiExceptions: readonly {
  readonly code: string;
  readonly path: string;
  readonly why: string;
}[] = [
  {
    code: 'owasp:api4:2023-string-limit',
    path: 'paths./v1/live.get.responses.200.content.text/event-stream.schema',
    why: 'the stream does not end; its buffers are bounded for each client',
  },
];
