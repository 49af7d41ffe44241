#ifndef CLIFECYCLE_SQLITE_SHIM_H
#define CLIFECYCLE_SQLITE_SHIM_H

#include <sqlite3.h>

// Swift cannot import SQLITE_TRANSIENT, which is a cast. With it, SQLite copies the value during the call.
static inline int lifecycle_sqlite_bind_bytes(sqlite3_stmt *statement, int place, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, place, bytes, count, SQLITE_TRANSIENT);
}

static inline int lifecycle_sqlite_bind_text(sqlite3_stmt *statement, int place, const void *text, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, place, (const char *)text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

#endif
