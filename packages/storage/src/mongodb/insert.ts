import { type Collection, type Document, MongoBulkWriteError, type OptionalUnlessRequiredId } from 'mongodb';
import { DUPLICATE_KEY } from './errors.ts';

/**
 * Inserts documents. Resolves to the indexes of those whose identity exists already. Documents are sorted by
 * identity, so that concurrent writers wait for each other in one order and never deadlock.
 *
 * `w` also applies to existing documents: a server makes a refused insert wait for the document that exists.
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
