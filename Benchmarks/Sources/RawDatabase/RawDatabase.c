#include "RawDatabase.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { operations = 3, most_tables = 16 };

static const char *const texts[2][operations] = {
    {
        "INSERT INTO %s (key, version, grp, ord, body, detail) VALUES (?1, 1, ?2, ?3, ?4, ?5)",
        "UPDATE %s SET version = version + 1, grp = ?2, ord = ?3, body = ?4, detail = ?5 WHERE key = ?1",
        "DELETE FROM %s WHERE key = ?1",
    },
    {
        "INSERT INTO %s (key, version, grp, ord, body, detail) VALUES ($1, 1, $2, $3, $4, $5)",
        "UPDATE %s SET version = version + 1, grp = $2, ord = $3, body = $4, detail = $5 WHERE key = $1",
        "DELETE FROM %s WHERE key = $1",
    },
};

struct raw_database {
    sqlite3 *sqlite;
    PGconn *postgres;
    struct {
        char table[32];
        sqlite3_stmt *statements[operations];
        int prepared[operations];
    } tables[most_tables];
};

raw_database *raw_sqlite_open(const char *path) {
    raw_database *database = calloc(1, sizeof *database);
    if (database == NULL) return NULL;
    if (sqlite3_open_v2(path, &database->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
        sqlite3_exec(database->sqlite, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", NULL, NULL, NULL) == SQLITE_OK)
        return database;
    raw_database_close(database);
    return NULL;
}

raw_database *raw_postgres_open(const char *url) {
    raw_database *database = calloc(1, sizeof *database);
    if (database == NULL) return NULL;
    database->postgres = PQconnectdb(url);
    if (PQstatus(database->postgres) == CONNECTION_OK) return database;
    raw_database_close(database);
    return NULL;
}

static int place(raw_database *database, const char *table) {
    for (int index = 0; index < most_tables; index++) {
        if (database->tables[index].table[0] == 0)
            snprintf(database->tables[index].table, sizeof database->tables[index].table, "%s", table);
        if (strcmp(database->tables[index].table, table) == 0) return index;
    }
    return -1;
}

static int sqlite_write(raw_database *database, int table, const raw_write *write) {
    sqlite3_stmt **statement = &database->tables[table].statements[write->operation];
    if (*statement == NULL) {
        char text[256];
        snprintf(text, sizeof text, texts[0][write->operation], write->table);
        if (sqlite3_prepare_v3(database->sqlite, text, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) != SQLITE_OK) return 0;
    }
    sqlite3_bind_text(*statement, 1, write->key, -1, SQLITE_STATIC);
    if (write->operation != 2) {
        sqlite3_bind_text(*statement, 2, write->group, -1, SQLITE_STATIC);
        sqlite3_bind_int64(*statement, 3, write->order);
        sqlite3_bind_blob64(*statement, 4, write->body, write->body_count, SQLITE_STATIC);
        sqlite3_bind_blob64(*statement, 5, write->detail, write->detail_count, SQLITE_STATIC);
    }
    int code = sqlite3_step(*statement);
    sqlite3_reset(*statement);
    return code == SQLITE_DONE;
}

static int done(PGresult *result) {
    int is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return is_done;
}

static int postgres_write(raw_database *database, int table, const raw_write *write) {
    char name[64];
    snprintf(name, sizeof name, "%s_%d", write->table, write->operation);
    if (!database->tables[table].prepared[write->operation]) {
        char text[256];
        snprintf(text, sizeof text, texts[1][write->operation], write->table);
        if (!done(PQprepare(database->postgres, name, text, 0, NULL))) return 0;
        database->tables[table].prepared[write->operation] = 1;
    }
    char order[8];
    for (int index = 0; index < 8; index++) order[index] = (char)((uint64_t)write->order >> (56 - 8 * index));
    const char *values[] = {write->key, write->group, order, write->body, write->detail};
    int lengths[] = {(int)strlen(write->key), (int)strlen(write->group), 8, (int)write->body_count, (int)write->detail_count};
    int formats[] = {1, 1, 1, 1, 1};
    return done(PQexecPrepared(database->postgres, name, write->operation == 2 ? 1 : 5, values, lengths, formats, 1));
}

static int run(raw_database *database, const char *statement) {
    if (database->sqlite) return sqlite3_exec(database->sqlite, statement, NULL, NULL, NULL) == SQLITE_OK;
    return done(PQexec(database->postgres, statement));
}

int raw_database_commit(raw_database *database, const raw_write *writes, size_t count) {
    if (!run(database, database->sqlite ? "BEGIN IMMEDIATE" : "BEGIN")) return 0;
    for (size_t index = 0; index < count; index++) {
        int table = place(database, writes[index].table);
        if (table < 0) return 0;
        if (!(database->sqlite ? sqlite_write : postgres_write)(database, table, &writes[index])) return 0;
    }
    return run(database, "COMMIT");
}

void raw_database_close(raw_database *database) {
    for (int table = 0; table < most_tables; table++)
        for (int operation = 0; operation < operations; operation++)
            sqlite3_finalize(database->tables[table].statements[operation]);
    sqlite3_close_v2(database->sqlite);
    PQfinish(database->postgres);
    free(database);
}
