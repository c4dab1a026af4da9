// PostgreSQL with pgvector in a process of its own: PGlite loads its parts in a way that Jest's modules don't know. Its
// parent sends SQL, and is answered with null or an error's message.
const { PGlite } = require('@electric-sql/pglite');
const { vector } = require('@electric-sql/pglite-pgvector');
const { PGLiteSocketServer } = require('@electric-sql/pglite-socket');

async function serve() {
  const database = await PGlite.create({ extensions: { vector } });
  const server = new PGLiteSocketServer({
    db: database,
    host: '127.0.0.1',
    port: Number(process.argv[2]),
    maxConnections: 10,
  });
  await server.start();
  process.on('message', (sql) => {
    database.exec(String(sql)).then(
      () => process.send?.(null),
      (error) => process.send?.(error.message),
    );
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.(null);
}

void serve();
