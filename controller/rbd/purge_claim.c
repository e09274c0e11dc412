#include "controller/rbd/purge_claim.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"

#define CLAIM_MS 10000 /* for opening an image */

static long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Caller frees. */
static char *claim_key(const char *purge_key)
{
    return xasprintf(PURGE_CLAIM_KEY "%s", purge_key + strlen(PURGE_KEY));
}

void purge_claim_init(struct purge_claim *claim, const struct controller *controller,
                      struct ceph_pool *directory, const char *object, const char *purge_key)
{
    *claim = (struct purge_claim){
        .controller = controller,
        .directory = directory,
        .object = object,
        .key = claim_key(purge_key),
        .value = xasprintf("%s %lld", controller->process_id.chars, now_ms()),
    };
}

void purge_claim_done(struct purge_claim *claim)
{
    free(claim->key);
    free(claim->value);
}

/* False: the process has had the time to open the image, or has died. */
static bool is_recent(const char *value)
{
    const char *began = strchr(value, ' ');

    return began && llabs(now_ms() - strtoll(began, NULL, 10)) <= CLAIM_MS;
}

/* A claim of our own, or an old one. */
static bool may_take_over(const struct purge_claim *claim, const char *value)
{
    return text_has_prefix(value, claim->controller->process_id.chars) || !is_recent(value);
}

int purge_claim_is_fresh(struct ceph_pool *directory, struct call *call, const char *object,
                         const char *purge_key, bool *is_fresh, struct error *err)
{
    _cleanup_free_ char *key = claim_key(purge_key);
    _cleanup_free_ char *value = NULL;

    if (directory->ops->omap_get(directory, call, object, key, &value, err) < 0)
        return -1;
    *is_fresh = value && is_recent(value);
    return 0;
}

int purge_claim_take(struct purge_claim *claim, struct call *call, bool *mine, struct error *err)
{
    const struct ceph_ops *ops = claim->directory->ops;
    _cleanup_free_ char *present = NULL;
    bool removed = false;

    *mine = true;
    for (int tries = 0; tries < 2; tries++) {
        if (ops->omap_add(claim->directory, call, claim->object, claim->key, claim->value, err) ==
            0)
            return 0;
        if (err->status != STATUS_ALREADY_EXISTS)
            return -1;
        error_clear(err);
        free(TAKE(present));
        if (ops->omap_get(claim->directory, call, claim->object, claim->key, &present, err) < 0)
            return -1;
        if (present && !may_take_over(claim, present))
            break;
        if (present && ops->omap_remove_if(claim->directory, call, claim->object, claim->key,
                                           present, NULL, &removed, err) < 0)
            return -1;
    }
    *mine = false;
    return 0;
}

int purge_claim_release(struct purge_claim *claim, struct call *call, struct error *err)
{
    bool removed = false;

    return claim->directory->ops->omap_remove_if(claim->directory, call, claim->object, claim->key,
                                                 claim->value, NULL, &removed, err);
}
