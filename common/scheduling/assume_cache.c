#include "common/scheduling/assume_cache.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

void assumption_free(struct assumption *assumption)
{
    if (!assumption)
        return;
    free_all(assumption->version, assumption->claim.ns, assumption->claim.name,
             assumption->claim.uid, assumption->selected_node, assumption);
}

static int parse_version(const char *key, const char *version, int64_t *number, struct error *err)
{
    if (text_parse_i64(version ? version : "", number, err) < 0) {
        error_clear(err);
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "\"%s\" has the resource version '%.40s', which is no number", key,
                         version ? version : "");
    }
    return 0;
}

static int refuse(const char *key, const char *stored, const char *version, struct error *err)
{
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "\"%s\" is out of sync (stored: %s, assume: %s)", key, stored, version);
}

int assume_check(enum assume_rules rules, const char *key, const char *stored,
                 const struct assumption *current, const char *version, struct error *err)
{
    int64_t latest = 0;
    int64_t wanted = 0;

    if (!stored)
        return error_set(err, STATUS_NOT_FOUND, "\"%s\" not found", key);
    if (rules == ASSUME_SAME_VERSION)
        return strcmp(stored, version) == 0 ? 0 : refuse(key, stored, version, err);
    if (parse_version(key, current ? current->version : stored, &latest, err) < 0 ||
        parse_version(key, version, &wanted, err) < 0)
        return -1;
    return wanted >= latest ? 0 : refuse(key, current ? current->version : stored, version, err);
}

/* Texts that are no numbers are as good as new: nothing is lost by taking the event. */
static bool is_newer(const char *version, const char *than)
{
    _cleanup_error_ struct error err = {0};
    int64_t a = 0;
    int64_t b = 0;

    if (text_parse_i64(version, &a, &err) < 0 || text_parse_i64(than, &b, &err) < 0)
        return true;
    return a > b;
}

bool assume_takes_event(enum assume_rules rules, const char *stored,
                        const struct assumption *current, const char *version)
{
    if (rules == ASSUME_SAME_VERSION || !stored)
        return true;
    return is_newer(version, current ? current->version : stored);
}

bool assume_survives(enum assume_rules rules, const struct assumption *assumption,
                     const char *version)
{
    if (rules == ASSUME_NEWEST_VERSION)
        return !is_newer(version, assumption->version);
    return strcmp(assumption->version, version) == 0;
}

bool assume_restores(enum assume_rules rules, const struct assumption *current, const char *version)
{
    if (!current)
        return false;
    return rules == ASSUME_NEWEST_VERSION || strcmp(current->version, version) == 0;
}

const struct kube_claim_ref *assume_cache_claim(const struct kube_pv *pv)
{
    if (pv->assumed && pv->assumed->has_claim)
        return &pv->assumed->claim;
    return pv->has_claim ? &pv->claim : NULL;
}

const char *assume_cache_selected_node(const struct kube_pvc *claim)
{
    if (claim->assumed && claim->assumed->selected_node)
        return claim->assumed->selected_node;
    return strmap_get(&claim->meta.annotations, KUBE_SELECTED_NODE);
}
