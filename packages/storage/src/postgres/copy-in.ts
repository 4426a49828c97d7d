import type pg from 'pg';
import { from } from 'pg-copy-streams';

/**
 * Runs `COPY … FROM STDIN` with its whole data, which is one message of the protocol. Resolves when the server has
 * committed exactly `rows` rows and is ready for the next statement. The time limits of the client apply. Rejects with
 * the error of the server or of the driver, as a query does, or with an Error if the server stored another number of rows.
 */
export function copyIn(client: pg.ClientBase, sql: string, data: Buffer, rows: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = client.query(from(sql));
    // The stream emits further errors when its connection is closed after a timeout, or when it has data left to send.
    stream.on('error', (error) => {
      reject(error);
      stream.destroy();
    });
    stream.on('finish', () => {
      const { rowCount } = stream;
      if (rowCount === rows) resolve();
      else reject(new Error(`COPY stored ${rowCount} of ${rows} rows: does the table have a trigger?`));
    });
    stream.end(data);
  });
}
