#ifndef RAW_DATABASE_H
#define RAW_DATABASE_H

#include <stddef.h>
#include <stdint.h>

/// The floor: the rows that a journal writes, through the database's own library, and nothing around it.
typedef struct raw_database raw_database;

/// One write of a row.
typedef struct {
    /// 0 inserts it, 1 replaces the one with the key, 2 deletes that one.
    int operation;
    const char *table;
    const char *key;
    const char *group;
    int64_t order;
    const void *body;
    size_t body_count;
    const void *detail;
    size_t detail_count;
} raw_write;

/// Opens a file of SQLite that has the tables; NULL where it cannot.
raw_database *raw_sqlite_open(const char *path);

/// Connects to PostgreSQL; NULL where it cannot.
raw_database *raw_postgres_open(const char *url);

/// Writes rows in one durable transaction; 1 where it was committed.
int raw_database_commit(raw_database *database, const raw_write *writes, size_t count);

void raw_database_close(raw_database *database);

#endif
