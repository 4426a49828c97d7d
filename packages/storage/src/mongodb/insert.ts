import { type Collection, type Document, MongoBulkWriteError, type OptionalUnlessRequiredId } from 'mongodb';
import { DUPLICATE_KEY } from './errors.ts';

/**
 * Inserts documents; resolves to the indexes of those whose identity is there already. Documents come sorted by
 * it, so that writers of the same ones wait for each other in one order and never in a circle.
 *
 * That also holds `w`: a server makes an insert that it refuses wait for whatever it has met.
 */
export async function insertNew<T extends Document>(
  collection: Collection<T>,
  documents: readonly T[],
): Promise<number[]> {
  if (documents.length === 0) return [];
  try {
    await collection.insertMany(documents as readonly OptionalUnlessRequiredId<T>[], { ordered: false });
    return [];
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw error;
    const errors = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
    const unmet = error.result.getWriteConcernError();
    const onlyDuplicates = errors.length > 0 && errors.every(({ code }) => code === DUPLICATE_KEY);
    if (unmet !== undefined || !onlyDuplicates) throw error;
    return errors.map(({ index }) => index);
  }
}
