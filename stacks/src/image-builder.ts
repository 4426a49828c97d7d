export { Builder, tagsOf } from '../images/debian/builder.ts';
