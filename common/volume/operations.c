#include "common/volume/operations.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"

/* A few times the number of calls in progress, which the workers bound. */
#define BUCKETS 256

struct operation_entry {
    struct operation_entry *next;
    struct call *call;
    char *key;
    bool shared;
};

struct operations {
    pthread_mutex_t lock;
    struct operation_entry *buckets[BUCKETS];
};

struct operations *operations_new(void)
{
    struct operations *operations = xcalloc(1, sizeof(*operations));

    pthread_mutex_init(&operations->lock, NULL);
    return operations;
}

void operations_free(struct operations *operations)
{
    if (!operations)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        assert(!operations->buckets[i]);
    pthread_mutex_destroy(&operations->lock);
    free(operations);
}

static struct operation_entry **bucket_of(struct operations *operations, const char *key)
{
    return &operations->buckets[hash_text(HASH_START, key) % BUCKETS];
}

static int begin_operation(struct operations *operations, const char *kind, const char *name,
                           struct call *call, bool shared, struct operation *operation,
                           struct error *err)
{
    _cleanup_free_ char *key = xasprintf("%s:%s", kind, name);
    _cleanup_text_ struct text busy = TEXT_INIT(1024);

    assert(!operation->entry);
    pthread_mutex_lock(&operations->lock);
    struct operation_entry **bucket = bucket_of(operations, key);
    const struct operation_entry *other = *bucket;
    /* an exclusive entry keeps out all, a shared one only owners */
    while (other && (strcmp(other->key, key) != 0 || (shared && other->shared)))
        other = other->next;
    if (other) {
        call_describe(other->call, &busy); /* under the lock: the other cannot end meanwhile */
    } else {
        struct operation_entry *entry = xcalloc(1, sizeof(*entry));

        *entry = (struct operation_entry){*bucket, call, TAKE(key), shared};
        *bucket = entry;
        *operation = (struct operation){operations, entry};
    }
    pthread_mutex_unlock(&operations->lock);
    if (other)
        return error_set(err, STATUS_ABORTED, "%s; retry when it has ended", text_chars(&busy));
    return 0;
}

int operation_begin(struct operations *operations, const char *kind, const char *name,
                    struct call *call, struct operation *operation, struct error *err)
{
    return begin_operation(operations, kind, name, call, false, operation, err);
}

int operation_begin_shared(struct operations *operations, const char *kind, const char *name,
                           struct call *call, struct operation *operation, struct error *err)
{
    return begin_operation(operations, kind, name, call, true, operation, err);
}

void operation_end(struct operation *operation)
{
    struct operation_entry *entry = operation->entry;

    if (!entry)
        return;
    pthread_mutex_lock(&operation->operations->lock);
    struct operation_entry **link = bucket_of(operation->operations, entry->key);
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    pthread_mutex_unlock(&operation->operations->lock);
    free(entry->key);
    free(entry);
    *operation = (struct operation){0};
}
