export { closest, didYouMean } from './closest.ts';
export { copyString } from './copy-string.ts';
export { counted } from './counted.ts';
export { maskUrl, maskUrls, redactor, secretsIn } from './mask.ts';
