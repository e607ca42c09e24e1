"""
The database of the process: engines, tables and the shared state that lives in rows.

    sqlite       the packaged SQLite driver, installed before anything opens a database
    database     read sessions and write transactions over SQLite or PostgreSQL
    postgres     connections to PostgreSQL, and those by which requests read
    failures     failures of a database that mean "try again later"
    conflicts    repetition of transactions that another one rolled back
    tables       the tables as SQLModel classes
    further_tables  the tables of saved documents, decision chains, leases, held writes, webhooks
    sign_in_tables  the tables of clients, grants and one-time links
    columns      columns that several tables have
    timestamps   milliseconds since the epoch, and their text form
    clock        the time that all processes on one database share
    clock_check  comparison of the machine's clock with the database's
    leases       locks in the database, for one process at a time
    serving      the leases of the processes that serve
    idempotency  attempts and responses of `Idempotency-Key` requests
    uploads      files uploaded to be attached to messages
    event_ids    public ids of calendars and events
    background   loops that run beside the requests
    cleanup      the deletion of expired rows, hourly and in slices
    schema_version
                 the version of the schema: the current one and the known ones
    backups      copies of the database and their restoration
    sealed_columns
                 encrypts the values of a column again under the newest key
    migrations   Alembic migrations of the schema, and its upgrades and downgrades
"""
