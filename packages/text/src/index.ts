export { closest, didYouMean } from './closest.ts';
export { maskUrl, maskUrls, redactor, secretsIn } from './mask.ts';
