/** The tags of a series, besides its metric. All but `device` and `prefix` are fields of the registered device. */
export const TAG_KEYS = ['device', 'prefix', 'site', 'city', 'kind', 'year'] as const;
export type TagKey = (typeof TAG_KEYS)[number];
