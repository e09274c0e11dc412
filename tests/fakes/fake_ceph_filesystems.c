/* File systems and their data pools, as the monitors tell of them. */
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_ceph_subvolumes_state.h"

struct fake_data_pool *fake_fs_find_pool(const struct fake_subvolumes *all, const char *fs,
                                         const char *name)
{
    for (size_t i = 0; i < all->pool_count; i++)
        if (strcmp(all->pools[i].fs, fs) == 0 &&
            (name[0] == '\0' || strcmp(all->pools[i].name, name) == 0))
            return &all->pools[i];
    return NULL;
}

/* --- the monitors --- */

static void tell_filesystem(const struct fake_subvolumes *all, const struct fake_filesystem *fs,
                            struct text *reply)
{
    const char *comma = "";

    text_addf(reply,
              "{\"id\":%lld,\"mdsmap\":{\"fs_name\":\"%s\",\"metadata_pool\":%lld,"
              "\"data_pools\":[",
              (long long)fs->id, fs->name, (long long)fs->metadata_pool_id);
    for (size_t i = 0; i < all->pool_count; i++) {
        if (strcmp(all->pools[i].fs, fs->name) != 0)
            continue;
        text_addf(reply, "%s%lld", comma, (long long)all->pools[i].id);
        comma = ",";
    }
    text_add(reply, "]}}");
}

static void tell_filesystems(const struct fake_subvolumes *all, struct text *reply)
{
    text_add(reply, "{\"epoch\":5,\"filesystems\":[");
    for (size_t i = 0; i < all->filesystem_count; i++) {
        text_add(reply, i ? "," : "");
        tell_filesystem(all, &all->filesystems[i], reply);
    }
    text_add(reply, "]}");
}

static void tell_room(const struct fake_subvolumes *all, struct text *reply)
{
    text_add(reply, "{\"stats\":{\"total_avail_bytes\":1},\"pools\":[");
    for (size_t i = 0; i < all->pool_count; i++)
        text_addf(reply,
                  "%s{\"name\":\"%s\",\"stats\":{\"stored\":0,\"objects\":0,\"max_avail\":%llu}}",
                  i ? "," : "", all->pools[i].name, (unsigned long long)all->pools[i].room);
    text_add(reply, "]}");
}

static void tell_pool(const struct fake_data_pool *pool, struct text *reply)
{
    text_addf(reply,
              "{\"pool_id\":%lld,\"pool_name\":\"%s\",\"type\":1,\"quota_max_bytes\":0,"
              "\"application_metadata\":{\"cephfs\":{\"data\":\"%s\"",
              (long long)pool->id, pool->name, pool->fs);
    for (size_t i = 0; i < pool->metadata.count; i++)
        text_addf(reply, ",\"%s\":\"%s\"", pool->metadata.entries[i].key,
                  pool->metadata.entries[i].value);
    text_add(reply, "}}}");
}

static void tell_pools(const struct fake_subvolumes *all, struct text *reply)
{
    text_add(reply, "[");
    for (size_t i = 0; i < all->pool_count; i++) {
        text_add(reply, i ? "," : "");
        tell_pool(&all->pools[i], reply);
    }
    text_add(reply, "]");
}

static void tell_crush(const struct fake_subvolumes *all, struct text *reply)
{
    (void)all;
    text_add(reply, "{\"buckets\":[],\"rules\":[],\"types\":[]}");
}

int fake_fs_answer_mon(void *object, const char *text, struct text *reply)
{
    static const struct {
        const char *prefix;
        void (*tell)(const struct fake_subvolumes *all, struct text *reply);
    } answers[] = {
        {"\"fs dump\"", tell_filesystems},
        {"\"df\"", tell_room},
        {"\"osd pool ls\"", tell_pools},
        {"\"osd crush dump\"", tell_crush},
    };
    struct fake_subvolumes *all = object;

    for (size_t i = 0; i < ARRAY_LENGTH(answers); i++) {
        if (!strstr(text, answers[i].prefix))
            continue;
        pthread_mutex_lock(&all->lock);
        answers[i].tell(all, reply);
        pthread_mutex_unlock(&all->lock);
        return 0;
    }
    return -EINVAL;
}

void fake_subvolumes_add_filesystem(struct fake_subvolumes *all, const char *name, int64_t id,
                                    int64_t metadata_pool_id, const char *group)
{
    all->filesystems =
        xreallocarray(all->filesystems, all->filesystem_count + 1, sizeof(*all->filesystems));
    all->filesystems[all->filesystem_count++] =
        (struct fake_filesystem){xstrdup(name), id, metadata_pool_id, xstrdup(group)};
}

void fake_subvolumes_add_data_pool(struct fake_subvolumes *all, const char *fs, const char *name,
                                   int64_t id, uint64_t room)
{
    all->pools = xreallocarray(all->pools, all->pool_count + 1, sizeof(*all->pools));
    all->pools[all->pool_count++] =
        (struct fake_data_pool){xstrdup(fs), xstrdup(name), id, room, {0}};
}

void fake_subvolumes_set_room(struct fake_subvolumes *all, const char *fs, const char *pool,
                              uint64_t room)
{
    pthread_mutex_lock(&all->lock);
    fake_fs_find_pool(all, fs, pool)->room = room;
    pthread_mutex_unlock(&all->lock);
}

void fake_subvolumes_tag_pool(struct fake_subvolumes *all, const char *fs, const char *pool,
                              const char *key, const char *value)
{
    pthread_mutex_lock(&all->lock);
    strmap_set(&fake_fs_find_pool(all, fs, pool)->metadata, key, value);
    pthread_mutex_unlock(&all->lock);
}
